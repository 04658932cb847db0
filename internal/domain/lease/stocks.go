package lease

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const sqlCountStocks = `
SELECT count(*) FROM worlds w WHERE w.tenant_id = $1 AND w.number = ANY ($2) AND NOT w.retired`

// CountStocks counts a tenant's worlds on a database, without those that are
// retired, in bounded transactions.
//
// Errors: forbidden tenant_suspended or tenant_closed; unavailable.
func (s *Service) CountStocks(ctx context.Context, database string, tenant domain.TenantID) (map[domain.Stock]int64, error) {
	db := s.router.Named(database)
	if db == nil {
		return nil, fmt.Errorf("no data database %q", database)
	}
	var worlds int64
	entry := tenancy.Entry{Tenant: tenant, Purpose: tenancy.Maintain}
	err := tenancy.WalkNumbers(ctx, db, entry, func(tx *tenancy.Tx, numbers []int16) {
		tx.Queue(sqlCountStocks, numbers).QueryRow(func(row pgx.Row) error {
			var n int64
			err := row.Scan(&n)
			worlds += n
			return err
		})
	})
	return map[domain.Stock]int64{domain.Worlds: worlds}, err
}
