package purge

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const (
	sqlCounts = `
SELECT c.name, sum(c.deleted)::bigint FROM purge_counts c
 WHERE c.tenant_id = $1 AND c.number = ANY ($2::smallint[]) GROUP BY c.name`

	sqlForgetCounts = `DELETE FROM purge_counts c WHERE c.tenant_id = $1 AND c.number = ANY ($2::smallint[])`
)

// takeCounts puts what was deleted of the data databases into the tombstone, once no
// rows are left anywhere.
func (s *Service) takeCounts(ctx context.Context, p *purge) error {
	if err := s.expectNoCopies(ctx, p.tenant); err != nil {
		return err
	}
	p.rows = map[string]int64{}
	for _, db := range s.router.Databases() {
		err := s.onDatabase(ctx, db, p.tenant, func(tx *tenancy.Tx, numbers []int16) {
			tx.Queue(sqlCounts, numbers).Query(func(rows pgx.Rows) error {
				var name string
				var deleted int64
				_, err := pgx.ForEachRow(rows, []any{&name, &deleted}, func() error { p.rows[name] += deleted; return nil })
				return err
			})
		})
		if err != nil {
			return err
		}
	}
	p.step = stepForget
	return s.save(ctx, p)
}

// end forgets the counts where they were made, and makes the tenant's row a
// tombstone. A crash in between leaves both to the next step.
func (s *Service) end(ctx context.Context, p *purge) error {
	for _, db := range s.router.Databases() {
		err := s.onDatabase(ctx, db, p.tenant, func(tx *tenancy.Tx, numbers []int16) { tx.Queue(sqlForgetCounts, numbers) })
		if err != nil {
			return err
		}
	}
	p.step, p.purgedAt = stepClose, s.now()
	return s.tenants.Purging(ctx, p.tenant, func(ctx context.Context, tx pgx.Tx) error {
		if err := s.saveTx(ctx, tx, p); err != nil {
			return err
		}
		return s.tenants.EndPurge(ctx, tx, p.tenant)
	})
}

// closeForGood closes the gates, which no later revision opens.
func (s *Service) closeForGood(ctx context.Context, p *purge) error {
	if err := s.tenants.SettlePurge(ctx, p.tenant); err != nil {
		return err
	}
	p.step = stepDone
	return s.tenants.ControlTx(ctx, tenancy.Operators, func(tx pgx.Tx) error { return s.saveTx(ctx, tx, p) })
}
