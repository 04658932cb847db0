package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// IdentitySweep finishes what requests have left unfinished in the identity
// domain, in all numbers of one data database and for all tenants.
type IdentitySweep struct {
	Database string `json:"database"`
}

// Kind is the job's name in River's tables.
func (IdentitySweep) Kind() string { return "identity_sweep" }

// InsertOpts: one job a database.
func (IdentitySweep) InsertOpts() river.InsertOpts { return oneOnDatabase(queueSweeps) }

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
	*sweeping

	walks map[string]identityWalks // by database
}

type identityWalks struct{ operations, claims *walk[partition] }

// partition is one family's number, of all tenants.
type partition struct {
	family domain.Family
	number domain.Number
}

func partitionOf(family domain.Family, number domain.Number) partition {
	return partition{family, number}
}

func newIdentitySweeper(shared *sweeping, databases []*postgres.Database) *identitySweeper {
	s := &identitySweeper{sweeping: shared, walks: map[string]identityWalks{}}
	for _, db := range databases {
		if len(db.Numbers) > 0 {
			s.walks[db.Name] = identityWalks{
				operations: newWalk([]domain.Family{domain.FamilyAccount, domain.FamilyDevice}, db.Numbers, partitionOf),
				claims:     newWalk([]domain.Family{domain.FamilyHandle, domain.FamilyEmail, domain.FamilyDeviceCode}, db.Numbers, partitionOf),
			}
		}
	}
	return s
}

// Work does one run. A partition that can't be swept now doesn't keep the others
// from it; the run then fails as a whole, and the next comes with the schedule.
func (s *identitySweeper) Work(ctx context.Context, job *river.Job[IdentitySweep]) error {
	walks, ok := s.walks[job.Args.Database]
	if !ok {
		return errNotHere(job.Args.Database)
	}
	run := s.newRun(job.Args.Database)
	complete := s.operations(ctx, run, walks.operations)
	if complete {
		s.claims(ctx, run, walks.claims)
	}
	if run.recovered > 0 {
		s.log.InfoContext(ctx, "unfinished work was recovered", "database", job.Args.Database, "recovered", run.recovered)
	}
	return run.end(complete)
}

// operations finishes what is overdue in each partition, page by page, and
// tells whether it came to the end of all that it was to visit.
func (s *identitySweeper) operations(ctx context.Context, run *sweepRun, walk *walk[partition]) (complete bool) {
	visits := len(walk.places)
	backlog, err := s.domain.Backlog(ctx, run.database)
	if err == nil && backlog.Pending == 0 { // else the steps tell what is wrong
		visits = idlePartitions
	}
	walk.begin(visits)
	for {
		p, ok := walk.turn()
		if !ok {
			return true
		}
		for more, begun := true, false; more; begun = true {
			if !run.mayGoOn(ctx) {
				if begun {
					walk.leave(p)
				}
				return false
			}
			more = run.step(ctx, "operations", p.family, func() (identity.SweepStep, error) {
				return s.domain.SweepOperations(ctx, run.database, p.family, p.number, operationsPage)
			})
		}
		walk.pass(p)
	}
}

// claims looks into one page of claims, of the partition whose turn it is.
func (s *identitySweeper) claims(ctx context.Context, run *sweepRun, walk *walk[partition]) {
	if !run.mayGoOn(ctx) {
		return
	}
	walk.begin(1)
	p, _ := walk.turn()
	run.step(ctx, "claims", p.family, func() (identity.SweepStep, error) {
		return s.domain.SweepClaims(ctx, run.database, p.family, p.number, claimsPage)
	})
	walk.pass(p)
}
