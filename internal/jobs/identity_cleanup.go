package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// IdentityCleanup removes what has had its time in the identity domain, in all
// numbers of one data database and for all tenants.
type IdentityCleanup struct {
	Database string `json:"database"`
}

// Kind is the job's name in River's tables.
func (IdentityCleanup) Kind() string { return "identity_cleanup" }

// InsertOpts: one job a database.
func (IdentityCleanup) InsertOpts() river.InsertOpts { return oneOnDatabase(queueCleanup) }

const (
	// cleanupPage is in candidates, each a few small transactions.
	cleanupPage = 50
	// idlePages in a row, on which nothing was to be done or could be, end a visit;
	// the next goes on behind them. So neither the streams of tenants who have no old
	// events, nor what waits for a suspended one, cost more when there are more.
	idlePages = 10
	// maxFailures end a run: a database is down, and the next run goes on from there.
	maxFailures = 10
)

// identityCleaner works the cleanup. A run goes over every task in every number.
type identityCleaner struct {
	river.WorkerDefaults[IdentityCleanup]
	*sweeping

	walks map[string]*walk[chore] // by database
}

// chore is a task in one number, of all tenants.
type chore struct {
	task   identity.CleanupTask
	number domain.Number
}

func choreOf(task identity.CleanupTask, number domain.Number) chore { return chore{task, number} }

func newIdentityCleaner(shared *sweeping, databases []*postgres.Database) *identityCleaner {
	c := &identityCleaner{sweeping: shared, walks: map[string]*walk[chore]{}}
	for _, db := range databases {
		if len(db.Numbers) > 0 {
			c.walks[db.Name] = newWalk(identity.CleanupTasks(), db.Numbers, choreOf)
		}
	}
	return c
}

// Work does one run. A step that fails doesn't keep the others from their turn;
// the run then fails as a whole, and the next comes with the schedule.
func (c *identityCleaner) Work(ctx context.Context, job *river.Job[IdentityCleanup]) error {
	walk, ok := c.walks[job.Args.Database]
	if !ok {
		return errNotHere(job.Args.Database)
	}
	run := c.newRun(job.Args.Database)
	complete := c.lap(ctx, run, walk)
	if run.recovered > 0 {
		c.log.InfoContext(ctx, "what had its time was cleaned up", "database", job.Args.Database, "removed", run.recovered)
	}
	return run.end(complete)
}

func (c *identityCleaner) lap(ctx context.Context, run *sweepRun, walk *walk[chore]) (complete bool) {
	walk.begin(len(walk.places))
	for len(run.errs) < maxFailures {
		turn, ok := walk.turn()
		if !ok {
			return true
		}
		if !c.visit(ctx, run, turn) {
			return false
		}
		walk.pass(turn)
	}
	return false
}

// visit does a task in a number, page by page, and tells whether it came to an
// end.
func (c *identityCleaner) visit(ctx context.Context, run *sweepRun, turn chore) (complete bool) {
	for more, idle := true, 0; more && idle < idlePages; {
		if !run.mayGoOn(ctx) {
			return false
		}
		idle++
		before := run.recovered
		more = run.step(ctx, string(turn.task), turn.task.Family(), func() (identity.SweepStep, error) {
			return c.domain.Cleanup(ctx, run.database, turn.task, turn.number, cleanupPage)
		})
		if run.recovered > before {
			idle = 0
		}
	}
	return true
}
