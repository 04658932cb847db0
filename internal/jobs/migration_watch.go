package jobs

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
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
	control    *pgxpool.Pool
}

// sqlForsaken removes jobs of runs that are over, from the queues of builds that have
// no worker any more. One that was asked for just now may be of a run that began
// behind the look.
const sqlForsaken = `
DELETE FROM river_job
 WHERE kind = $1 AND state IN ('available', 'retryable', 'scheduled') AND scheduled_at < clock_timestamp() - interval '1 minute'
   AND NOT args->>'run' = ANY ($2::text[])`

// sqlDeserted gives jobs that count as running to another worker, as River's rescuer
// does a minute later. A worker that is alive all the same goes on beside it, and of
// each step of theirs one commits.
const sqlDeserted = `
UPDATE river_job SET state = 'available', attempt = greatest(attempt - 1, 0), scheduled_at = clock_timestamp()
 WHERE kind = ANY ($1::text[]) AND state = 'running' AND attempted_at < clock_timestamp() - $2::interval
   AND coalesce(args->>'run', args->>'report') = ANY ($3::text[])`

// Work does one look. Jobs are unique while unfinished, so that what has one gets no
// other.
func (w *watcher) Work(ctx context.Context, _ *river.Job[MigrationWatch]) error {
	open, err := w.migrations.OpenWork(ctx, openLimit)
	if err != nil {
		return err
	}
	if err := w.handOver(ctx, open); err != nil {
		return err
	}
	if len(open) < openLimit { // else some are out of sight
		runs := make([]string, len(open))
		for i, o := range open {
			runs[i] = o.ID.String()
		}
		if _, err := w.control.Exec(ctx, sqlForsaken, MigrationRun{}.Kind(), runs); err != nil {
			return err
		}
	}
	params := firstSlices(open)
	if len(params) == 0 {
		return nil
	}
	_, err = river.ClientFromContext[pgx.Tx](ctx).InsertMany(ctx, params)
	return err
}

// handOver gives what nobody has been heard of at to another worker.
func (w *watcher) handOver(ctx context.Context, open []migration.OpenWork) error {
	var silent []string
	for _, o := range open {
		if o.Silent > desertedAfter {
			silent = append(silent, o.ID.String())
		}
	}
	if len(silent) == 0 {
		return nil
	}
	_, err := w.control.Exec(ctx, sqlDeserted, []string{MigrationRun{}.Kind(), MigrationScrub{}.Kind()}, desertedAfter, silent)
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
