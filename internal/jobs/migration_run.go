package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
)

// MigrationRun works a slice of a run, and hands on to the next. Of a tenant's runs
// of a build one has a slice at a time, so that none keeps others' waiting.
type MigrationRun struct {
	Tenant    domain.TenantID    `json:"tenant" river:"unique"`
	Migration domain.MigrationID `json:"migration"`
	Run       domain.RunID       `json:"run"`
	Build     string             `json:"build" river:"unique"`
}

// Kind is the job's name in River's tables.
func (MigrationRun) Kind() string { return "migration_run" }

// InsertOpts: only a worker of the build takes it.
func (j MigrationRun) InsertOpts() river.InsertOpts { return oneSlice(queueOfRuns(j.Build)) }

// runOf is the job of an open run.
func runOf(w migration.OpenWork) MigrationRun {
	return MigrationRun{Tenant: w.Tenant, Migration: w.Migration, Run: w.ID, Build: w.Build}
}

func newRunWorker(shared *sweeping, o Options) *sliceWorker[MigrationRun] {
	return &sliceWorker[MigrationRun]{
		migrations: o.Migrations, control: o.Control, stopping: shared.stopping,
		work: func(ctx context.Context, j MigrationRun, until time.Time) (bool, error) {
			return o.Migrations.Work(ctx, j.Tenant, j.Migration, j.Run, until)
		},
		beside: func(j MigrationRun, w migration.OpenWork) (MigrationRun, bool) {
			return runOf(w), !w.Scrub && w.Tenant == j.Tenant && w.Build == j.Build
		},
	}
}
