package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// numbersTask is what those kinds have in common that do one thing on one database,
// in the numbers where there is something to do.
type numbersTask struct {
	*sweeping
	kind   string // in the metrics
	family domain.Family
	here   map[string]bool // databases with numbers

	due   func(ctx context.Context, database string) ([]domain.Number, error)
	sweep func(ctx context.Context, database string, number domain.Number) (identity.SweepStep, error)
}

func withNumbers(databases []*postgres.Database) map[string]bool {
	here := map[string]bool{}
	for _, db := range databases {
		here[db.Name] = len(db.Numbers) > 0
	}
	return here
}

// work does one run, a lap after the other over the numbers that have more: a page
// of each in turn, so that much to do in one number keeps none of the others
// waiting. A page in turn has all its tenants.
//
// A number that can't be swept now doesn't keep the others from it; the run then
// fails as a whole, and the next comes with the schedule.
func (n *numbersTask) work(ctx context.Context, database string) error {
	if !n.here[database] {
		return errNotHere(database)
	}
	due, err := n.due(ctx, database)
	if err != nil {
		return err
	}
	run := n.newRun(database)
	for len(due) > 0 {
		var more []domain.Number
		for _, number := range due {
			if !run.mayGoOn(ctx) {
				return run.end(false)
			}
			if n.step(ctx, run, number) {
				more = append(more, number)
			}
		}
		due = more
	}
	return run.end(true)
}

func (n *numbersTask) step(ctx context.Context, run *sweepRun, number domain.Number) (more bool) {
	return run.step(ctx, n.kind, n.family, func() (identity.SweepStep, error) {
		return n.sweep(ctx, run.database, number)
	})
}

// databaseKind is a kind that has one job a database.
type databaseKind interface {
	river.JobArgs
	on() (database string)
}

// numbersWorker works a kind.
type numbersWorker[K databaseKind] struct {
	river.WorkerDefaults[K]
	numbersTask
}

func newNumbersWorker[K databaseKind](task numbersTask) *numbersWorker[K] {
	return &numbersWorker[K]{numbersTask: task}
}

// Work does one run.
func (w *numbersWorker[K]) Work(ctx context.Context, job *river.Job[K]) error {
	return w.work(ctx, job.Args.on())
}
