package jobs

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
)

// MigrationWatch asks for a slice of each run and scrub that is open and has none:
// whoever asked for it couldn't, or the slice was given up. It begins no run.
type MigrationWatch struct{}

// Kind is the job's name in River's tables.
func (MigrationWatch) Kind() string { return "migration_watch" }

// InsertOpts: one job.
func (MigrationWatch) InsertOpts() river.InsertOpts { return oneOnDatabase(queueWatch) }

// scheduleOfAll stands in the table of schedules for a database, where a job is for
// all of the installation.
const scheduleOfAll = "control"

type watcher struct {
	river.WorkerDefaults[MigrationWatch]
	migrations Migrations
}

// Work does one look. Jobs are unique while unfinished, so that what has one gets no
// other.
func (w *watcher) Work(ctx context.Context, _ *river.Job[MigrationWatch]) error {
	open, err := w.migrations.OpenWork(ctx, openLimit)
	if err != nil {
		return err
	}
	params := firstSlices(open)
	if len(params) == 0 {
		return nil
	}
	_, err = river.ClientFromContext[pgx.Tx](ctx).InsertMany(ctx, params)
	return err
}

// firstSlices are the jobs that begin what is open: of what takes turns, the first
// one's, since one statement can't meet the same unique job twice.
func firstSlices(open []migration.OpenWork) (params []river.InsertManyParams) {
	type turns struct {
		kind   string
		tenant domain.TenantID
		build  string
	}
	begun := map[turns]bool{}
	for _, o := range open {
		job, key := river.JobArgs(runOf(o)), turns{MigrationRun{}.Kind(), o.Tenant, o.Build}
		if o.Scrub {
			job, key = scrubOf(o), turns{MigrationScrub{}.Kind(), o.Tenant, ""}
		}
		if !begun[key] {
			begun[key] = true
			params = append(params, river.InsertManyParams{Args: job})
		}
	}
	return params
}
