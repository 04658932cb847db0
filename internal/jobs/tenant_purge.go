package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Purges is what the jobs need of the purge domain. Each step is bounded, and keeps
// its place in the domain's tables; any number may run at once.
type Purges interface {
	// Due gives the tenants whose purge can come on now, first those that haven't for longest.
	Due(ctx context.Context, limit int) ([]domain.TenantID, error)
	// Step does a tenant's next step and tells whether another can follow at once.
	Step(ctx context.Context, tenant domain.TenantID) (more bool, err error)
}

const (
	purgeEvery   = 10 * time.Second
	purgesAtOnce = 1000 // tenants that a run goes round
)

// TenantPurge goes on with the purges of all tenants whose grace is over. It names no
// tenant, so that a purge leaves no job behind that does.
type TenantPurge struct{}

// Kind is the job's name in River's tables.
func (TenantPurge) Kind() string { return "tenant_purge" }

// InsertOpts: one job.
func (TenantPurge) InsertOpts() river.InsertOpts { return oneOnDatabase(queueTenants) }

type purger struct {
	river.WorkerDefaults[TenantPurge]
	*sweeping
	purges Purges
}

// Work does one run: a step of each tenant in turn, so that a large one keeps no other
// waiting. A purge that can't come on keeps no other from it; the run then fails as a
// whole, and the next comes with the schedule.
func (w *purger) Work(ctx context.Context, _ *river.Job[TenantPurge]) error {
	due, err := w.purges.Due(ctx, purgesAtOnce)
	if err != nil {
		return err
	}
	run := w.newRun(scheduleOfAll)
	for len(due) > 0 {
		var more []domain.TenantID
		for _, tenant := range due {
			if !run.mayGoOn(ctx) {
				return run.end(false)
			}
			again, err := w.purges.Step(ctx, tenant)
			run.steps++
			if err != nil {
				run.errs = append(run.errs, fmt.Errorf("the purge of tenant %s: %w", tenant, err))
			}
			if again {
				more = append(more, tenant)
			}
		}
		due = more
	}
	return run.end(true)
}
