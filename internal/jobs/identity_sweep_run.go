package jobs

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

// identityRun is one run of the sweep of one database.
type identityRun struct {
	sweeper  *identitySweeper
	database string
	deadline time.Time // after which no step begins

	steps     int
	recovered int
	errs      []error
}

func (s *identitySweeper) newRun(database string) *identityRun {
	return &identityRun{sweeper: s, database: database, deadline: time.Now().Add(s.budget)}
}

// mayGoOn tells whether another step may begin. The first always may, unless the
// process stops, so that every run comes on.
func (r *identityRun) mayGoOn(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-r.sweeper.stopping:
		return false
	default:
		return r.steps == 0 || time.Now().Before(r.deadline)
	}
}

// operations finishes what is overdue in each partition, page by page, and
// tells whether it came to the end of all that it was to visit.
func (r *identityRun) operations(ctx context.Context, walk *walk) (complete bool) {
	visits := len(walk.partitions)
	backlog, err := r.sweeper.domain.Backlog(ctx, r.database)
	if err == nil && backlog.Pending == 0 { // else the steps tell what is wrong
		visits = min(visits, idlePartitions)
	}
	for range visits {
		p := walk.next()
		for more := true; more; {
			if !r.mayGoOn(ctx) {
				return false
			}
			step, err := r.sweeper.domain.SweepOperations(ctx, r.database, p.family, p.number, operationsPage)
			more = r.took(ctx, "operations", p, step, err)
		}
	}
	return true
}

// claims looks into one page of claims, of the partition whose turn it is.
func (r *identityRun) claims(ctx context.Context, walk *walk) {
	if !r.mayGoOn(ctx) {
		return
	}
	p := walk.next()
	step, err := r.sweeper.domain.SweepClaims(ctx, r.database, p.family, p.number, claimsPage)
	r.took(ctx, "claims", p, step, err)
}

// took notes a step and tells whether the partition has more for it.
func (r *identityRun) took(ctx context.Context, kind string, p partition, step identity.SweepStep, err error) (more bool) {
	r.steps++
	r.sweeper.metrics.took(ctx, kind, p.family, step)
	r.recovered += step.Recovered
	if err != nil {
		r.errs = append(r.errs, err)
	}
	return err == nil && !step.Busy && !step.Done
}
