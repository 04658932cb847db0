package purge

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// sqlCopies are the numbers that another database has too. Which of two counts is the
// other: here are rows that no pass sees.
const sqlCopies = `SELECT n.number FROM number_gates n WHERE n.state = 'copy' AND $1::uuid IS NOT NULL ORDER BY n.number`

// expectNoCopies looks at what a move of numbers has copied, or left behind, on any
// database: also on one that has no number of its own. Those rows are the mover's, so
// that the purge waits until they are gone. Error: conflict copies_left.
func (s *Service) expectNoCopies(ctx context.Context, tenant domain.TenantID) error {
	for _, db := range s.router.Databases() {
		copies, err := copiesOn(ctx, db, tenant)
		if err != nil {
			return err
		}
		for _, number := range copies {
			found, err := s.firstFrom(ctx, db, nil, tenant, number)
			if err != nil {
				return err
			}
			if found == number {
				return domain.Conflict("copies_left", "A number that moves, or has moved, has rows of the tenant on another database too.")
			}
		}
	}
	return nil
}

func copiesOn(ctx context.Context, db *postgres.Database, tenant domain.TenantID) (copies []int16, err error) {
	entry := tenancy.Entry{Tenant: tenant, Purpose: tenancy.Purge, ReadOnly: true}
	err = tenancy.Run(ctx, db, entry, func(_ context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlCopies).Query(func(rows pgx.Rows) (err error) {
			copies, err = pgx.CollectRows(rows, pgx.RowTo[int16])
			return err
		})
		return nil
	})
	return copies, err
}
