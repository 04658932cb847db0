package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// RecordSnapshot makes the snapshots of collections that were asked for, and removes
// the objects of those that are no more. In all numbers of one data database and for
// all tenants.
type RecordSnapshot struct {
	Database string `json:"database"`
}

// Kind is the job's name in River's tables.
func (RecordSnapshot) Kind() string { return "record_snapshot" }

// InsertOpts: one job a database.
func (RecordSnapshot) InsertOpts() river.InsertOpts { return oneOnDatabase(queueSnapshots) }

// snapshotter works it.
type snapshotter struct {
	river.WorkerDefaults[RecordSnapshot]
	*sweeping
	records Records
	here    map[string]bool // databases with numbers
}

func newSnapshotter(shared *sweeping, o Options) *snapshotter {
	return &snapshotter{sweeping: shared, records: o.Records, here: withNumbers(o.Databases)}
}

// lapTenants is how many tenants a lap goes over.
const lapTenants = 256

// Work does one run: a lap after the other over the tenants who have snapshots that
// are due, a step for each, so that none of them keeps another waiting for longer
// than a part takes. A snapshot whose step failed waits for the next run.
func (w *snapshotter) Work(ctx context.Context, job *river.Job[RecordSnapshot]) error {
	database := job.Args.Database
	if !w.here[database] {
		return errNotHere(database)
	}
	run := w.newRun(database)
	failed := map[record.DueSnapshot]bool{}
	for {
		due, err := w.records.SnapshotsDue(ctx, database, lapTenants)
		if err != nil {
			return err
		}
		some := false
		for _, d := range due {
			if failed[d] {
				continue
			}
			if !run.mayGoOn(ctx) {
				return run.end(false)
			}
			some = true
			failed[d] = !w.step(ctx, run, d)
		}
		if !some {
			return run.end(true)
		}
	}
}

func (w *snapshotter) step(ctx context.Context, run *sweepRun, due record.DueSnapshot) (ok bool) {
	failures := len(run.errs)
	run.step(ctx, "snapshots", record.FamilyCollection, func() (identity.SweepStep, error) {
		step, err := w.records.StepSnapshot(ctx, due)
		return identity.SweepStep(step), err
	})
	return len(run.errs) == failures
}
