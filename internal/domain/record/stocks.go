package record

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// sqlCountStocks adds up both formats; a tombstone's length is 0.
const sqlCountStocks = `
SELECT ((SELECT coalesce(sum(s.length), 0) FROM sections_in_sql s WHERE s.tenant_id = $1 AND s.number = ANY ($2))
      + (SELECT coalesce(sum(s.length), 0) FROM sections_in_store s WHERE s.tenant_id = $1 AND s.number = ANY ($2)))::bigint`

// CountStocks adds up a tenant's live bodies on a database, each as long as it is
// for every section that refers to it, in bounded transactions.
//
// Errors: forbidden tenant_suspended or tenant_closed; unavailable.
func (s *Service) CountStocks(ctx context.Context, database string, tenant domain.TenantID) (map[domain.Stock]int64, error) {
	db, err := s.database(database)
	if err != nil {
		return nil, err
	}
	var bytes int64
	entry := tenancy.Entry{Tenant: tenant, Purpose: tenancy.Maintain}
	err = tenancy.WalkNumbers(ctx, db, entry, func(tx *tenancy.Tx, numbers []int16) {
		tx.Queue(sqlCountStocks, numbers).QueryRow(func(row pgx.Row) error {
			var n int64
			err := row.Scan(&n)
			bytes += n
			return err
		})
	})
	return map[domain.Stock]int64{domain.BodyBytes: bytes}, err
}

// demandRoom refuses a publication whose tenant may not have so many more bytes of
// live bodies. What makes them fewer is never refused. Of what is decided on at
// once, each is held to what stands before any of it.
func (s *Service) demandRoom(ctx context.Context, tenant domain.TenantID, grows int64) error {
	if grows <= 0 {
		return nil
	}
	return s.quotas.Demand(ctx, tenant, domain.BodyBytes, grows)
}

// grows is by how many bytes all items' live bodies do.
func (req *CompleteBatch) grows() (bytes int64) {
	for i := range req.Items {
		bytes += req.Items[i].grows
	}
	return bytes
}
