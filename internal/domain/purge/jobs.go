package purge

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// River's jobs of one tenant name it in their arguments. Those that run are let end:
// a gate refuses their next step.
const (
	sqlDeleteJobs = `DELETE FROM river_job WHERE args @> jsonb_build_object('tenant', $1::text) AND state <> 'running'`
	sqlAnyJobs    = `SELECT EXISTS (SELECT FROM river_job WHERE args @> jsonb_build_object('tenant', $1::text))`
)

// purgeJobs deletes what jobs the tenant has, and goes on when it has none. The
// tenant's migrations are gone by then, so nobody asks for others.
func (s *Service) purgeJobs(ctx context.Context, p *purge) (more bool, err error) {
	err = s.tenants.Purging(ctx, p.tenant, func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sqlDeleteJobs, p.tenant.String())
		if err != nil {
			return err
		}
		var running bool
		if err := tx.QueryRow(ctx, sqlAnyJobs, p.tenant.String()).Scan(&running); err != nil {
			return err
		}
		if running && tag.RowsAffected() == 0 {
			_, err := tx.Exec(ctx, sqlStall, p.tenant, nil) // it waits, and the age of its last step tells for how long
			return err
		}
		p.jobs += tag.RowsAffected()
		if more = !running; more {
			p.step = s.next(p.step)
		}
		return s.saveTx(ctx, tx, p)
	})
	return more, err
}
