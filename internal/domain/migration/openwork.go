package migration

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// OpenWork is a run or a scrub that hasn't ended.
type OpenWork struct {
	Tenant    domain.TenantID
	Migration domain.MigrationID
	ID        domain.RunID // the run's; of a scrub, its report's
	Scrub     bool
	Build     string // for which it was asked
	// Silent is for how long nobody has been heard of who is at it. Whoever is tells of
	// it every few seconds, but for a store or a database that doesn't answer.
	Silent time.Duration
}

const sqlOpenWork = `SELECT tenant_id, migration_id, work_id, scrub, build, silent FROM open_migration_work($1)`

// OpenWork gives the runs and the scrubs of all tenants that haven't ended, so many
// of each at most, those that began first. It is the worker's alone.
//
// Errors: unavailable.
func (s *Service) OpenWork(ctx context.Context, limit int) (open []OpenWork, err error) {
	err = s.control.ControlRead(ctx, tenancy.Operators, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlOpenWork, limit)
		open, err = pgx.CollectRows(rows, pgx.RowToStructByPos[OpenWork])
		return err
	})
	return open, err
}
