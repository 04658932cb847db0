package migration

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// errand is what a process is at when something happens to it.
type errand struct {
	name string
	// prepare is done by a process that lives, and do by one to which it happens.
	prepare func(t *testing.T, m *moving, kind Kind) Migration
	do      func(ctx context.Context, api, worker *Service, of Migration, run Run) error
	runs    bool // a run is open
	least   int  // exchanges that it has: fewer, and this test misses some
}

var errands = []errand{
	{name: "activation", prepare: prepareApproved, do: doActivate, least: 20},
	{name: "run", prepare: prepareActive, do: doWork, runs: true, least: 30},
	{name: "pause", prepare: prepareActive, do: doPause, runs: true, least: 8},
	{name: "resumption", prepare: preparePaused, do: doResume, least: 8},
	{name: "stop", prepare: prepareActive, do: doStop, runs: true, least: 8},
	{name: "close", prepare: prepareVerified, do: doClose, least: 10},
}

// R7, R13: something happens to the process at the exchanges of every errand: it dies before
// the exchange, or the exchange is done and its answer is lost. Readers are told the
// same as before, and its heirs bring the migration to its close, with the same
// totals as an undisturbed one.
func TestCrash_AtEveryExchange_ReadersSeeNothing_AndHeirsGoOn(t *testing.T) {
	t.Parallel()
	for _, kind := range []Kind{RecordBodies, Rehydrate} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			all := newMortals(t, newMoving(t))
			for _, e := range errands {
				t.Run(e.name, func(t *testing.T) { e.everywhere(t, all, kind) })
			}
		})
	}
}

func (e errand) everywhere(t *testing.T, all *mortals, kind Kind) {
	whole := &life{}
	twin := e.begin(t, all, kind)
	api, worker, ctx := all.spawn(t, whole)
	if err := e.do(ctx, api, worker, twin.migration, twin.run); err != nil {
		t.Fatalf("with nothing happening: %v", err)
	}
	exchanges := whole.met()
	if len(exchanges) < e.least {
		t.Fatalf("only %d exchanges: %q", len(exchanges), exchanges)
	}
	twin.end(t)
	happened, these := 0, happenings(exchanges, kind == Rehydrate)
	for _, h := range these {
		t.Run(h.name(exchanges), func(t *testing.T) {
			s := e.begin(t, all, kind)
			l := &life{at: h.at, dies: h.dies}
			api, worker, ctx := all.spawn(t, l)
			err := e.do(ctx, api, worker, s.migration, s.run)
			if len(l.met()) >= h.at {
				happened++
			}
			s.awaitSilence(t)
			s.unchanged(t, s.before)
			s.end(t)
			if got, want := s.total(t, s.migration), twin.total(t, twin.migration); !got.sameWork(want) {
				t.Errorf("behind %v the totals are %+v, and undisturbed %+v", err, got, want)
			}
		})
	}
	// What is done side by side shares an exchange at times, so that the last ones of
	// a run don't always come.
	if happened < len(these)*2/3 {
		t.Errorf("of %d exchanges only %d met what was to happen", len(these), happened)
	}
}

// happening is what happens to a process at an exchange.
type happening struct {
	at   int
	dies bool
}

func (h happening) name(exchanges []string) string {
	how := "loses the answer of"
	if h.dies {
		how = "dies before"
	}
	return fmt.Sprintf("%s %d, %s", how, h.at, exchanges[h.at-1])
}

// happenings are what can happen at the exchanges of an undisturbed life and leave
// something of its own: a death behind what may have written, or its lost answer,
// which leave the same in the databases. They take turns, of which dies is the
// first. What only reads leaves nothing, and the same statement behind the same one
// leaves the same; HOLDFAST_TEST_CRASHES=all has everything at every exchange.
func happenings(exchanges []string, dies bool) (all []happening) {
	if os.Getenv("HOLDFAST_TEST_CRASHES") == "all" {
		for n := range exchanges {
			all = append(all, happening{n + 1, true}, happening{n + 1, false})
		}
		return all
	}
	last, seen := "the begin", map[string]bool{}
	all = append(all, happening{1, true})
	for n, exchange := range exchanges {
		if !mayWrite(exchange) || n+1 < len(exchanges) && exchanges[n+1] == exchange {
			continue // a statement is described first, and then run
		}
		if place := last + " and then " + exchange; !seen[place] {
			seen[place] = true
			if dies && n+1 < len(exchanges) {
				all = append(all, happening{n + 2, true})
			} else {
				all = append(all, happening{n + 1, false})
			}
			dies = !dies
		}
		last = exchange
	}
	return all
}

// mayWrite tells an exchange that writes, or commits. In one go with its begin a
// transaction may commit.
func mayWrite(exchange string) bool {
	if exchange == "begin read only" {
		return false
	}
	for _, begin := range []string{"begin", "commit", "INSERT", "UPDATE", "DELETE", "PUT"} {
		if strings.HasPrefix(exchange, begin) {
			return true
		}
	}
	return false
}

// sameWork compares what is the same however often a run was interrupted.
func (c Counters) sameWork(other Counters) bool {
	return c.Moved == other.Moved && c.Bodies == other.Bodies && c.Bytes == other.Bytes
}

// scene is one tenant's migration, with what readers were told before.
type scene struct {
	*moving
	migration Migration
	run       Run
	before    told
}

func (e errand) begin(t *testing.T, all *mortals, kind Kind) *scene {
	t.Helper()
	s := &scene{moving: all.moving.another(t, kind)}
	s.fill(t, "orders", 4)
	s.fill(t, "invoices", 1)
	s.before = s.question(t)
	s.migration = e.prepare(t, s.moving, kind)
	if e.runs {
		s.run = s.openRun(t, s.migration)
	}
	return s
}

// end brings the migration to its close, and asks the question once more.
func (s *scene) end(t *testing.T) {
	t.Helper()
	s.finish(t, s.migration.ID)
	s.unchanged(t, s.before)
	for table, of := range map[Kind]string{RecordBodies: "sections_in_sql", Rehydrate: "sections_in_store"} {
		if table == s.migration.Kind && s.counted(t, "SELECT count(*) FROM "+of+" WHERE tenant_id = $1", s.scope.Tenant) != 0 {
			t.Errorf("rows are left in %s", of)
		}
	}
}

// twoAtOnce are caps by which the scenes have passes behind one another.
var twoAtOnce = Caps{Inspected: 64, Records: 2, Bytes: 8 << 20, InFlight: 2}

func prepareApproved(t *testing.T, m *moving, kind Kind) Migration {
	t.Helper()
	asked := m.ask(t, kind)
	shown, plan, err := m.api.Preview(t.Context(), planner, asked.Tenant, asked.ID, Preview{Qualification: m.qualified(t, m.api), Caps: &twoAtOnce, FreeBytes: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	m.baseline(t, shown)
	approved, err := m.api.Approve(t.Context(), approver, shown.Tenant, shown.ID, plan.Hash)
	if err != nil {
		t.Fatal(err)
	}
	return approved
}

func prepareActive(t *testing.T, m *moving, kind Kind) Migration {
	t.Helper()
	approved := prepareApproved(t, m, kind)
	a, err := m.api.Activate(t.Context(), planner, approved.Tenant, approved.ID, approved.PlanHash)
	if err != nil {
		t.Fatal(err)
	}
	return a.Migration
}

// preparePaused has moved some already.
func preparePaused(t *testing.T, m *moving, kind Kind) Migration {
	t.Helper()
	active := prepareActive(t, m, kind)
	m.step(t, active, "orders")
	paused, err := m.api.Pause(t.Context(), planner, active.Tenant, active.ID, active.PlanHash)
	if err != nil {
		t.Fatal(err)
	}
	return paused
}

func prepareVerified(t *testing.T, m *moving, kind Kind) Migration {
	t.Helper()
	active := prepareActive(t, m, kind)
	m.run(t, active)
	return m.verified(t, active.ID)
}

// step makes one pass over a collection.
func (m *moving) step(t testing.TB, of Migration, collection string) walked {
	t.Helper()
	for _, c := range m.at(t, of) {
		if c.Collection == collection {
			ended, err := m.walk(t.Context(), m.scope.Tenant, c.number, c.CollectionID, once())
			if err != nil {
				t.Fatal(err)
			}
			return ended
		}
	}
	t.Fatalf("%s is no part of the migration", collection)
	return ""
}

// at are a migration's checkpoints.
func (m *moving) at(t testing.TB, of Migration) []Checkpoint {
	t.Helper()
	all, err := m.api.checkpoints(t.Context(), &of)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func doActivate(ctx context.Context, api, _ *Service, m Migration, _ Run) error {
	_, err := api.Activate(ctx, planner, m.Tenant, m.ID, m.PlanHash)
	return err
}

func doWork(ctx context.Context, _, worker *Service, m Migration, run Run) error {
	_, err := worker.Work(ctx, m.Tenant, m.ID, run.ID, time.Now().Add(time.Minute))
	return err
}

func doPause(ctx context.Context, api, _ *Service, m Migration, _ Run) error {
	_, err := api.Pause(ctx, planner, m.Tenant, m.ID, m.PlanHash)
	return err
}

func doResume(ctx context.Context, api, _ *Service, m Migration, _ Run) error {
	_, err := api.Resume(ctx, planner, m.Tenant, m.ID, m.PlanHash)
	return err
}

func doStop(ctx context.Context, _, worker *Service, m Migration, _ Run) error {
	_, err := worker.stop(ctx, m.Tenant, m.ID, Stop{Category: Internal, NextStep: nextSteps[Internal]})
	return err
}

func doClose(ctx context.Context, api, _ *Service, m Migration, _ Run) error {
	_, err := api.Close(ctx, planner, m.Tenant, m.ID, m.PlanHash, "all is where it belongs")
	return err
}
