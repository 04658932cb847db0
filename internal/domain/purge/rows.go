package purge

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// sqlHasObjects: what may stand in the object store, or has stood there, has one of
// these.
const sqlHasObjects = `
SELECT EXISTS (SELECT FROM collections c WHERE c.tenant_id = $1 AND c.number = ANY ($2::smallint[]) AND c.record_format = 2)
    OR EXISTS (SELECT FROM sections_in_store s WHERE s.tenant_id = $1 AND s.number = ANY ($2::smallint[]))
    OR EXISTS (SELECT FROM snapshots s WHERE s.tenant_id = $1 AND s.number = ANY ($2::smallint[]))
    OR EXISTS (SELECT FROM object_counts o WHERE o.tenant_id = $1 AND o.number = ANY ($2::smallint[]))
    OR EXISTS (SELECT FROM migration_checkpoints m WHERE m.tenant_id = $1 AND m.number = ANY ($2::smallint[]))`

// closeGates has every data database admit the purge and nothing else, and looks
// whether there is an object store to purge. A process without one deletes nothing of
// a tenant that has objects.
func (s *Service) closeGates(ctx context.Context, p *purge) error {
	if err := s.tenants.SettlePurge(ctx, p.tenant); err != nil {
		return err
	}
	for _, db := range s.router.Databases() {
		err := s.onDatabase(ctx, db, p.tenant, func(tx *tenancy.Tx, numbers []int16) {
			tx.Queue(sqlHasObjects, numbers).QueryRow(func(row pgx.Row) error {
				var some bool
				err := row.Scan(&some)
				p.hasObjects = p.hasObjects || some
				return err
			})
		})
		if err != nil {
			return err
		}
	}
	if p.hasObjects && s.objects == nil {
		return domain.Conflict("object_store_missing", "The tenant has objects, and this process no object store.")
	}
	p.step, p.number = s.next(p.step), 0
	return s.save(ctx, p)
}

// onDatabase runs one transaction of the tenant over all numbers of a database.
func (s *Service) onDatabase(ctx context.Context, db *postgres.Database, tenant domain.TenantID, queue func(tx *tenancy.Tx, numbers []int16)) error {
	if len(db.Numbers) == 0 {
		return nil
	}
	numbers := make([]int16, len(db.Numbers))
	for i, n := range db.Numbers {
		numbers[i] = int16(n)
	}
	entry := tenancy.Entry{Tenant: tenant, Numbers: db.Numbers, Purpose: tenancy.Purge}
	return tenancy.Run(ctx, db, entry, func(_ context.Context, tx *tenancy.Tx) error {
		queue(tx, numbers)
		return nil
	})
}

// sqlPurgeNumber: the tenant is the transaction's; it is an argument for form's sake.
const sqlPurgeNumber = `SELECT purge_number($2, $3) WHERE $1::uuid IS NOT NULL`

// purgeNumbers goes over numbers, from the one whose turn it is, until one pass has
// deleted rows, and writes down behind which numbers nothing is left.
func (s *Service) purgeNumbers(ctx context.Context, p *purge) (more bool, err error) {
	from, deleted := p.number, int64(0)
	for deleted == 0 && int(p.number) < domain.Numbers {
		var busy bool
		deleted, busy, err = s.pass(ctx, p.tenant, domain.Number(p.number))
		switch {
		case err != nil:
			return false, err
		case busy:
			return false, nil
		case deleted == 0:
			p.number++
		}
	}
	if int(p.number) == domain.Numbers {
		p.step, p.number = s.next(p.step), 0
	} else if p.number == from {
		return true, nil
	}
	return true, s.save(ctx, p)
}

// pass deletes rows of one number. It is busy while another worker is at it.
func (s *Service) pass(ctx context.Context, tenant domain.TenantID, number domain.Number) (deleted int64, busy bool, err error) {
	entry := tenancy.Entry{Tenant: tenant, Numbers: []domain.Number{number}, Purpose: tenancy.Purge}
	err = tenancy.Run(ctx, s.router.Database(number), entry, func(_ context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlPurgeNumber, int16(number), passRows).QueryRow(func(row pgx.Row) error {
			var n *int64
			if err := row.Scan(&n); err != nil {
				return err
			}
			if busy = n == nil; !busy {
				deleted = *n
			}
			return nil
		})
		return nil
	})
	return deleted, busy, err
}
