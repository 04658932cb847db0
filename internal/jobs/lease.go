package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// Leases is what the jobs need of the lease domain. A step reads one page of one
// number from a cursor that the domain keeps, and deals with what it finds; any
// number may run at once.
type Leases interface {
	// SweepDue gives the numbers where a task has something to do, the one that has
	// waited longest first.
	SweepDue(ctx context.Context, database string, task lease.Task) ([]domain.Number, error)
	Sweep(ctx context.Context, database string, task lease.Task, number domain.Number, limit int) (lease.SweepStep, error)
}

// Times between two runs on a database.
const (
	checkpointEvery = time.Minute // a run signs what has not been signed for an hour
	heatEvery       = 30 * time.Second
)

// worldsPage is in worlds; those of one tenant share transactions.
const worldsPage = 256

// familyWorld is what the sweeps' metrics call the lease domain's records.
const familyWorld domain.Family = "world"

// leaseTask is what the lease domain's kinds have in common: a run does one task on
// one database, in the numbers where there is something to do.
type leaseTask struct {
	*sweeping
	leases Leases
	task   lease.Task
	here   map[string]bool // databases with numbers
}

func newLeaseTask(shared *sweeping, o Options, task lease.Task) leaseTask {
	return leaseTask{shared, o.Leases, task, withNumbers(o.Databases)}
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
func (l *leaseTask) work(ctx context.Context, database string) error {
	if !l.here[database] {
		return errNotHere(database)
	}
	due, err := l.leases.SweepDue(ctx, database, l.task)
	if err != nil {
		return err
	}
	run := l.newRun(database)
	for len(due) > 0 {
		var more []domain.Number
		for _, number := range due {
			if !run.mayGoOn(ctx) {
				return run.end(false)
			}
			if l.step(ctx, run, number) {
				more = append(more, number)
			}
		}
		due = more
	}
	return run.end(true)
}

func (l *leaseTask) step(ctx context.Context, run *sweepRun, number domain.Number) (more bool) {
	return run.step(ctx, string(l.task), familyWorld, func() (identity.SweepStep, error) {
		step, err := l.leases.Sweep(ctx, run.database, l.task, number, worldsPage)
		return identity.SweepStep(step), err
	})
}

// leaseKind is one of the kinds below.
type leaseKind interface {
	river.JobArgs
	on() (database string)
}

// leaseWorker works a kind.
type leaseWorker[K leaseKind] struct {
	river.WorkerDefaults[K]
	leaseTask
}

func newLeaseWorker[K leaseKind](task leaseTask) *leaseWorker[K] {
	return &leaseWorker[K]{leaseTask: task}
}

// Work does one run.
func (w *leaseWorker[K]) Work(ctx context.Context, job *river.Job[K]) error {
	return w.work(ctx, job.Args.on())
}
