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

// IdentitySweep finishes what requests have left unfinished in the identity
// domain, in all numbers of one data database and for all tenants.
type IdentitySweep struct {
	Database string `json:"database"`
}

// Kind is the job's name in River's tables.
func (IdentitySweep) Kind() string { return "identity_sweep" }

// InsertOpts: one job a database as long as one is unfinished. A run that failed
// isn't tried again: the next comes with the schedule.
func (IdentitySweep) InsertOpts() river.InsertOpts {
	return river.InsertOpts{
		Queue:       queueSweeps,
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

// Identity is what the sweep needs of the identity domain. A step reads one
// page of one family and number from a cursor that the domain keeps, and
// recovers what it finds; any number may run at once.
type Identity interface {
	SweepOperations(ctx context.Context, database string, family domain.Family, number domain.Number, limit int) (identity.SweepStep, error)
	SweepClaims(ctx context.Context, database string, family domain.Family, number domain.Number, limit int) (identity.SweepStep, error)
	// Backlog counts what is unfinished on a database.
	Backlog(ctx context.Context, database string) (identity.Backlog, error)
	// SweepProgress tells how far the sweeps are on each database.
	SweepProgress(ctx context.Context) ([]identity.SweepProgress, error)
}

// Pages, in candidates. Looking into a claim takes two reads, and nearly every
// claim is in order, so a run takes one page: the claims are walked through at
// a steady pace, however many there are.
const (
	operationsPage = 50
	claimsPage     = 50
)

// idlePartitions are visited by a run that nothing waits for, so that passes go
// on and their age tells that the sweep is alive, at a small part of the cost.
const idlePartitions = 4

// identitySweeper works the sweeps. A run looks at the operations of every
// number when there are any, since those that are overdue stand in somebody's
// way, and at one page of claims.
type identitySweeper struct {
	river.WorkerDefaults[IdentitySweep]

	domain   Identity
	walks    map[string]identityWalks // by database
	budget   time.Duration
	metrics  sweepMetrics
	log      *slog.Logger
	stopping <-chan struct{} // closed when the process is about to stop
}

type identityWalks struct{ operations, claims *walk }

func newIdentitySweeper(o Options, metrics sweepMetrics, stopping <-chan struct{}) *identitySweeper {
	s := &identitySweeper{
		domain:   o.Identity,
		walks:    map[string]identityWalks{},
		budget:   o.RunBudget,
		metrics:  metrics,
		log:      o.Telemetry.Log,
		stopping: stopping,
	}
	for _, db := range o.Databases {
		if len(db.Numbers) > 0 {
			s.walks[db.Name] = identityWalks{
				operations: newWalk([]domain.Family{domain.FamilyAccount}, db.Numbers),
				claims:     newWalk([]domain.Family{domain.FamilyHandle, domain.FamilyEmail}, db.Numbers),
			}
		}
	}
	return s
}

// Work does one run. A partition that can't be swept now doesn't keep the others
// from it; the run then fails as a whole, and the next comes with the schedule.
// A run that leaves operations behind, because its budget is spent or the
// process stops, goes on at once as the same job.
func (s *identitySweeper) Work(ctx context.Context, job *river.Job[IdentitySweep]) error {
	walks, ok := s.walks[job.Args.Database]
	if !ok {
		return fmt.Errorf("this worker's configuration has no numbers on database %q", job.Args.Database)
	}
	run := s.newRun(job.Args.Database)
	complete := run.operations(ctx, walks.operations)
	if complete {
		run.claims(ctx, walks.claims)
	}
	if run.recovered > 0 {
		s.log.InfoContext(ctx, "unfinished work was recovered", "database", job.Args.Database, "recovered", run.recovered)
	}
	switch {
	case len(run.errs) > 0:
		return errors.Join(run.errs...)
	case !complete:
		return river.JobSnooze(0)
	default:
		return nil
	}
}
