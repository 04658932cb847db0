package jobs

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
)

// Leases is what the jobs need of the lease domain. A step reads one page of one
// number from a cursor that the domain keeps, and deals with what it finds; any
// number may run at once.
type Leases interface {
	// SweepDue gives the numbers where a task has something to do, the one that has
	// waited longest first.
	SweepDue(ctx context.Context, database string, task lease.Task) ([]domain.Number, error)
	Sweep(ctx context.Context, database string, task lease.Task, number domain.Number, limit int) (lease.SweepStep, error)
	// SweepProgress tells how far those tasks are that visit every number.
	SweepProgress(ctx context.Context) ([]lease.SweepProgress, error)
}

// Times between two runs on a database.
const (
	checkpointEvery = time.Minute // a run signs what has not been signed for an hour
	heatEvery       = 30 * time.Second
)

// worldsPage is in worlds; those of one tenant share transactions.
const worldsPage = 256

// newLeaseTask makes what the lease domain's kinds do: a run does one task on one
// database.
func newLeaseTask(shared *sweeping, o Options, task lease.Task) numbersTask {
	return numbersTask{
		sweeping: shared, kind: string(task), family: lease.FamilyWorld, here: withNumbers(o.Databases),
		due: func(ctx context.Context, database string) ([]domain.Number, error) {
			return o.Leases.SweepDue(ctx, database, task)
		},
		sweep: func(ctx context.Context, database string, number domain.Number) (identity.SweepStep, error) {
			step, err := o.Leases.Sweep(ctx, database, task, number, worldsPage)
			return identity.SweepStep(step), err
		},
	}
}
