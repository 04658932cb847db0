package purge

import (
	"context"
	"slices"

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

// In both the tenant is the transaction's own; the argument is for form's sake.
const (
	sqlPurgeNext   = `SELECT purge_next($2) WHERE $1::uuid IS NOT NULL`
	sqlPurgeNumber = `SELECT purge_number($2, $3) WHERE $1::uuid IS NOT NULL`
)

// purgeNumbers does one pass over the first number that has rows, and goes on when
// there is none.
func (s *Service) purgeNumbers(ctx context.Context, p *purge) (more bool, err error) {
	next, err := s.nextNumber(ctx, p.tenant)
	if err != nil {
		return false, err
	}
	if next == domain.Numbers {
		p.step, p.number = s.next(p.step), 0
		return true, s.save(ctx, p)
	}
	busy, err := s.pass(ctx, p.tenant, domain.Number(next))
	if err != nil || busy || next == p.number {
		return !busy && err == nil, err
	}
	p.number = next
	return true, s.save(ctx, p)
}

// nextNumber is the first number that has rows of the tenant; domain.Numbers when none
// has. Each database is asked for those that live there.
func (s *Service) nextNumber(ctx context.Context, tenant domain.TenantID) (next int16, err error) {
	next = domain.Numbers
	for _, db := range s.router.Databases() {
		for from := int16(0); from < next && len(db.Numbers) > 0; {
			found, err := s.firstFrom(ctx, db, db.Numbers, tenant, from)
			switch {
			case err != nil:
				return 0, err
			case found < domain.Numbers && !slices.Contains(db.Numbers, domain.Number(found)):
				from = found + 1 // what a number that has moved away has left is the mover's
			default:
				next, from = min(next, found), domain.Numbers
			}
		}
	}
	return next, nil
}

// firstFrom is the first number from one on that has rows of the tenant on a database,
// whoever's it is; domain.Numbers when none has. These numbers' gates must be open.
func (s *Service) firstFrom(ctx context.Context, db *postgres.Database, open []domain.Number, tenant domain.TenantID, from int16) (found int16, err error) {
	entry := tenancy.Entry{Tenant: tenant, Numbers: open, Purpose: tenancy.Purge, ReadOnly: true}
	err = tenancy.Run(ctx, db, entry, func(_ context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlPurgeNext, from).QueryRow(func(row pgx.Row) error {
			var n *int16
			err := row.Scan(&n)
			found = domain.Numbers
			if n != nil {
				found = *n
			}
			return err
		})
		return nil
	})
	return found, err
}

// pass deletes rows of one number. It is busy while another worker is at it.
func (s *Service) pass(ctx context.Context, tenant domain.TenantID, number domain.Number) (busy bool, err error) {
	entry := tenancy.Entry{Tenant: tenant, Numbers: []domain.Number{number}, Purpose: tenancy.Purge}
	err = tenancy.Run(ctx, s.router.Database(number), entry, func(_ context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlPurgeNumber, int16(number), passRows).QueryRow(func(row pgx.Row) error {
			var deleted *int64
			err := row.Scan(&deleted)
			busy = deleted == nil
			return err
		})
		return nil
	})
	return busy, err
}
