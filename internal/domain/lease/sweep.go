package lease

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// Task is something that is done to the worlds of a number, of all tenants, page by
// page.
type Task string

const (
	TaskSettle      Task = "settle"      // what is due of worlds that nobody asks for: Settle
	TaskCheckpoints Task = "checkpoints" // sign one an hour of each world that has grown
	TaskHeat        Task = "heat"        // judge how busy worlds are, and advise
)

// tenantsAtOnce are dealt with side by side, of one page: a transaction is one
// tenant's, and most of it is waiting.
const tenantsAtOnce = 4

// SweepStep is what one bounded step of a task did.
type SweepStep struct {
	Visited   int
	Recovered int  // of these, those where something was to be done
	Done      bool // the pass over this number is complete
	Busy      bool // another worker is reading a page of it
}

// visitor does a task to worlds of one tenant, and gives the number of those where
// something was to be done.
type visitor func(ctx context.Context, tenant domain.TenantID, worlds []worldRef) (did int, err error)

// Sweep does one bounded step of a task: it reads the next page of a number, at
// most limit worlds, moves the cursor behind it, and deals with what it found. Any
// number may run at once, and be killed anywhere: what is left of a page is met
// again in the next pass, and so is a world that can't be dealt with now, which
// keeps no other from its turn.
//
// Errors: unavailable; those of several tenants are joined.
func (s *Service) Sweep(ctx context.Context, database string, task Task, number domain.Number, limit int) (SweepStep, error) {
	db := s.router.Named(database)
	if db == nil {
		return SweepStep{}, fmt.Errorf("no data database %q", database)
	}
	var find finder
	var visit visitor
	switch task {
	case TaskSettle:
		find, visit = findDue, s.settleSome
	case TaskCheckpoints:
		find, visit = findGrown, s.checkpointSome
	case TaskHeat:
		find, visit = findHeated, s.judgeSome
	default:
		return SweepStep{}, fmt.Errorf("no task %q", task)
	}
	p, err := nextPage(ctx, db, task, number, limit, find)
	if err != nil || p.busy {
		return SweepStep{Busy: p.busy}, err
	}
	step := SweepStep{Visited: p.visited, Done: p.last}
	step.Recovered, err = eachTenant(ctx, number, p.found, visit)
	return step, err
}

func (s *Service) settleSome(ctx context.Context, tenant domain.TenantID, worlds []worldRef) (int, error) {
	some := make([]*settling, len(worlds))
	for i, world := range worlds {
		some[i] = newSettling(world)
	}
	return s.settleOn(ctx, s.router.Database(worlds[0].number), tenant, some)
}

// eachTenant deals with worlds tenant by tenant, some of them side by side. Those of
// one tenant follow each other. A tenant that has been suspended since is passed
// over.
func eachTenant(ctx context.Context, number domain.Number, found []foundWorld, visit visitor) (did int, err error) {
	type outcome struct {
		did int
		err error
	}
	var outcomes []*outcome
	var group errgroup.Group
	group.SetLimit(tenantsAtOnce)
	for len(found) > 0 && ctx.Err() == nil {
		tenant := found[0].tenant
		var worlds []worldRef
		for len(found) > 0 && found[0].tenant == tenant {
			worlds = append(worlds, worldRef{number, found[0].world})
			found = found[1:]
		}
		o := &outcome{}
		outcomes = append(outcomes, o)
		group.Go(func() error {
			o.did, o.err = visit(ctx, tenant, worlds)
			return nil
		})
	}
	group.Wait()
	for _, o := range outcomes {
		did += o.did
		if domain.KindOf(o.err) != domain.KindForbidden {
			err = errors.Join(err, o.err)
		}
	}
	return did, err
}

// The clock is read in the same transaction as what is due by it.
const (
	sqlNumbersDue = `
SELECT d.number FROM sweep_numbers_due(clock_timestamp(), clock_timestamp() - $2::interval) d
  LEFT JOIN lease_sweeps l ON l.task = $1 AND l.number = d.number
 ORDER BY l.visited_at NULLS FIRST, d.number`

	sqlNumbersHeated = `
SELECT d.number FROM sweep_numbers_heated(clock_timestamp() - $2::interval) d
  LEFT JOIN lease_sweeps l ON l.task = $1 AND l.number = d.number
 ORDER BY l.visited_at NULLS FIRST, d.number`

	// A pass that is under way goes on, and one begins when the one before began long
	// enough ago.
	sqlNumbersUnsigned = `
SELECT n.number FROM number_gates n
  LEFT JOIN lease_sweeps l ON l.task = $1 AND l.number = n.number
 WHERE n.state = 'open'
   AND (l.number IS NULL OR l.pass_ended_at IS NULL OR l.pass_ended_at < l.pass_began_at
        OR l.pass_began_at <= clock_timestamp() - $2::interval)
 ORDER BY l.visited_at NULLS FIRST, n.number`
)

// SweepDue gives the numbers of a database where a task has something to do, the
// one that has waited longest first. That is one statement, however many tenants
// and numbers there are, and all that an idle database costs.
//
// Errors: unavailable.
func (s *Service) SweepDue(ctx context.Context, database string, task Task) (numbers []domain.Number, err error) {
	db := s.router.Named(database)
	if db == nil {
		return nil, fmt.Errorf("no data database %q", database)
	}
	sql, age := sqlNumbersDue, coalesce
	switch task {
	case TaskCheckpoints:
		sql, age = sqlNumbersUnsigned, checkpointEvery
	case TaskHeat:
		sql, age = sqlNumbersHeated, heatWindow
	}
	err = asOperator(ctx, db, func(batch *pgx.Batch) {
		batch.Queue(sql, string(task), age).Query(func(rows pgx.Rows) (err error) {
			numbers, err = pgx.CollectRows(rows, pgx.RowTo[domain.Number])
			return err
		})
	})
	return numbers, err
}

const sqlEnterOperator = `SELECT enter_operator()`

// asOperator sends statements on what belongs to no tenant, in a transaction of
// their own.
func asOperator(ctx context.Context, db *postgres.Database, queue func(batch *pgx.Batch)) error {
	batch := &pgx.Batch{}
	batch.Queue("begin")
	batch.Queue(sqlEnterOperator)
	queue(batch)
	batch.Queue("commit")
	return postgres.Classify(db.Pool.SendBatch(ctx, batch).Close())
}
