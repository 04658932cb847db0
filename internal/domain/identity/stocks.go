package identity

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// sqlCountStocks counts what a quota is of: neither tombstones nor what was revoked.
const sqlCountStocks = `
SELECT (SELECT count(*) FROM accounts a WHERE a.tenant_id = $1 AND a.number = ANY ($2) AND a.status <> 'deleted'),
       (SELECT count(*) FROM devices d WHERE d.tenant_id = $1 AND d.number = ANY ($2) AND d.status <> 'revoked')`

// CountStocks counts a tenant's accounts and devices on a database, in bounded
// transactions.
//
// Errors: forbidden tenant_suspended or tenant_closed; unavailable.
func (s *Service) CountStocks(ctx context.Context, database string, tenant domain.TenantID) (map[domain.Stock]int64, error) {
	db := s.router.Named(database)
	if db == nil {
		return nil, fmt.Errorf("no data database %q", database)
	}
	var accounts, devices int64
	entry := tenancy.Entry{Tenant: tenant, Purpose: tenancy.Maintain, Layout: domain.Layout}
	err := tenancy.WalkNumbers(ctx, db, entry, func(tx *tenancy.Tx, numbers []int16) {
		tx.Queue(sqlCountStocks, numbers).QueryRow(func(row pgx.Row) error {
			var a, d int64
			err := row.Scan(&a, &d)
			accounts, devices = accounts+a, devices+d
			return err
		})
	})
	return map[domain.Stock]int64{domain.Accounts: accounts, domain.Devices: devices}, err
}
