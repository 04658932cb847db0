package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

// sweeping is what the kinds share that walk the numbers of a data database.
type sweeping struct {
	domain   Identity
	budget   time.Duration
	metrics  sweepMetrics
	log      *slog.Logger
	stopping <-chan struct{} // closed when the process is about to stop
}

// oneOnDatabase: one job a database as long as one is unfinished. A run that
// failed isn't tried again: the next comes with the schedule.
func oneOnDatabase(queue string) river.InsertOpts {
	return river.InsertOpts{
		Queue:       queue,
		MaxAttempts: 1,
		UniqueOpts:  river.UniqueOpts{ByArgs: true, ByState: unfinished()},
	}
}

// unfinished are the states of a job that is still to be worked.
func unfinished() []rivertype.JobState {
	return []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
		rivertype.JobStateRunning, rivertype.JobStateScheduled,
	}
}

// errNotHere is for a job of a database on which this worker has nothing.
func errNotHere(database string) error {
	return fmt.Errorf("this worker's configuration has no numbers on database %q", database)
}

// sweepRun is one run of a job on one database.
type sweepRun struct {
	*sweeping
	database string
	deadline time.Time // after which no step begins

	steps     int
	recovered int
	errs      []error
}

func (s *sweeping) newRun(database string) *sweepRun {
	return &sweepRun{sweeping: s, database: database, deadline: time.Now().Add(s.budget)}
}

// mayGoOn tells whether another step may begin. The first always may, unless the
// process stops, so that every run comes on.
func (r *sweepRun) mayGoOn(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-r.stopping:
		return false
	default:
		return r.steps == 0 || time.Now().Before(r.deadline)
	}
}

// step makes a step and notes what it did. It tells whether there is more for
// another; not behind a failure, which is the run's but keeps no other partition
// from its turn.
func (r *sweepRun) step(ctx context.Context, kind string, family domain.Family, do func() (identity.SweepStep, error)) (more bool) {
	did, err := do()
	r.steps++
	r.metrics.took(ctx, kind, family, did)
	r.recovered += did.Recovered
	if err != nil {
		r.errs = append(r.errs, err)
	}
	return err == nil && !did.Busy && !did.Done
}

// end is what the job ends with. A run that was not complete, because its budget
// is spent or the process stops, goes on at once as the same job.
func (r *sweepRun) end(complete bool) error {
	switch {
	case len(r.errs) > 0:
		return errors.Join(r.errs...)
	case !complete:
		return river.JobSnooze(0)
	default:
		return nil
	}
}
