package jobs

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

const (
	// idlePages in a row, on which nothing was to be done or could be, end a visit;
	// the next goes on behind them. So neither the streams of tenants who have no old
	// events, nor what waits for a suspended one, cost more when there are more.
	idlePages = 10
	// maxFailures end a run: a database is down, and the next run goes on from there.
	maxFailures = 10
)

// cleaner removes what has had its time in a domain, by tasks. A run goes over every
// task in every number of a database.
type cleaner[T ~string] struct {
	*sweeping
	page   int // how much a step looks at
	family func(T) domain.Family
	clean  func(ctx context.Context, database string, task T, number domain.Number, limit int) (identity.SweepStep, error)

	walks map[string]*walk[chore[T]] // by database
}

// chore is a task in one number, of all tenants.
type chore[T ~string] struct {
	task   T
	number domain.Number
}

func newCleaner[T ~string](shared *sweeping, databases []*postgres.Database, tasks []T, page int, family func(T) domain.Family,
	clean func(ctx context.Context, database string, task T, number domain.Number, limit int) (identity.SweepStep, error)) cleaner[T] {
	c := cleaner[T]{sweeping: shared, page: page, family: family, clean: clean, walks: map[string]*walk[chore[T]]{}}
	for _, db := range databases {
		if len(db.Numbers) > 0 {
			c.walks[db.Name] = newWalk(tasks, db.Numbers, func(task T, number domain.Number) chore[T] { return chore[T]{task, number} })
		}
	}
	return c
}

// work does one run. A step that fails doesn't keep the others from their turn; the
// run then fails as a whole, and the next comes with the schedule.
func (c *cleaner[T]) work(ctx context.Context, database string) error {
	walk, ok := c.walks[database]
	if !ok {
		return errNotHere(database)
	}
	run := c.newRun(database)
	complete := c.lap(ctx, run, walk)
	if run.recovered > 0 {
		c.log.InfoContext(ctx, "what had its time was cleaned up", "database", database, "removed", run.recovered)
	}
	return run.end(complete)
}

func (c *cleaner[T]) lap(ctx context.Context, run *sweepRun, walk *walk[chore[T]]) (complete bool) {
	walk.begin(len(walk.places))
	for len(run.errs) < maxFailures {
		turn, ok := walk.turn()
		if !ok {
			return true
		}
		before := run.steps
		if !c.visit(ctx, run, turn) {
			if run.steps > before {
				walk.leave(turn)
			}
			return false
		}
		walk.pass(turn)
	}
	return false
}

// visit does a task in a number, page by page, and tells whether it came to an
// end.
func (c *cleaner[T]) visit(ctx context.Context, run *sweepRun, turn chore[T]) (complete bool) {
	for more, idle := true, 0; more && idle < idlePages; {
		if !run.mayGoOn(ctx) {
			return false
		}
		idle++
		before := run.recovered
		more = run.step(ctx, string(turn.task), c.family(turn.task), func() (identity.SweepStep, error) {
			return c.clean(ctx, run.database, turn.task, turn.number, c.page)
		})
		if run.recovered > before {
			idle = 0
		}
	}
	return true
}
