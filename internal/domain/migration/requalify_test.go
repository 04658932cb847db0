package migration

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// carried is a migration that is paused in the middle: one collection is drained,
// another has moved some records and deferred one. A second build is there.
type carried struct {
	*moving
	api2, worker2 *Service
	orders        record.Collection
	before        Migration
	shownBefore   []string
}

func newCarried(t *testing.T) *carried {
	t.Helper()
	c := &carried{moving: newMoving(t)}
	c.orders = c.fill(t, "orders", 30)
	ledger := c.fill(t, "ledger", 5)
	c.shownBefore = c.shown(t, "ledger")
	c.api2, c.worker2 = c.process(t, postgres.RoleAPI, "build-2"), c.process(t, postgres.RoleWorker, "build-2")
	active := c.active(t, RecordBodies, "ledger", "orders")
	for _, db := range c.router.Databases() {
		if _, err := c.admin[db.Name].Exec(t.Context(), `UPDATE sections_in_sql SET content = overlay(content placing '\xff' from 1)
			WHERE item_key = 'key-0001' AND section = 'items' AND collection_id = $1`, c.orders.ID); err != nil {
			t.Fatal(err)
		}
	}
	if came, err := c.walk(t.Context(), active.Tenant, record.NumberOf("ledger"), ledger.ID, unlimited); err != nil || came != walkDrained {
		t.Fatalf("the ledger is %s, %v", came, err)
	}
	c.passes(t, c.Service, 2)
	var err error
	if c.before, err = c.api.Pause(t.Context(), planner, active.Tenant, active.ID, active.PlanHash); err != nil {
		t.Fatal(err)
	}
	return c
}

// passes makes so many over the orders.
func (c *carried) passes(t *testing.T, worker *Service, n int) {
	t.Helper()
	for range n {
		if came, err := worker.walk(t.Context(), c.scope.Tenant, record.NumberOf("orders"), c.orders.ID, once()); err != nil || came != walkSpent {
			t.Fatalf("the orders are %s, %v", came, err)
		}
	}
}

// rest is what a requalification must leave alone: of every checkpoint all but its
// plan, its build and its token, and every deferred row.
func (c *carried) rest(t *testing.T) (all []string) {
	t.Helper()
	for _, db := range c.router.Databases() {
		rows, _ := c.admin[db.Name].Query(t.Context(), `SELECT (to_jsonb(m) - 'plan_hash' - 'build' - 'token')::text FROM migration_checkpoints m
			UNION ALL SELECT to_jsonb(d)::text FROM migration_deferred d`)
		here, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, here...)
	}
	slices.Sort(all)
	return all
}

// at are the checkpoints by collection.
func (c *carried) at(t *testing.T) map[string]Checkpoint {
	t.Helper()
	all, err := c.api.checkpoints(t.Context(), &c.before)
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]Checkpoint{}
	for _, p := range all {
		at[p.Collection] = p
	}
	return at
}

func (c *carried) envelope(t *testing.T) (Envelope, Hash) {
	t.Helper()
	e, err := c.api2.RequalifyPreview(t.Context(), planner, c.before.Tenant, c.before.ID, c.before.PlanHash, c.qualified(t, c.api2))
	if err != nil {
		t.Fatal(err)
	}
	hash, err := e.Hash()
	if err != nil {
		t.Fatal(err)
	}
	return e, hash
}

func (c *carried) approve(t *testing.T, hash Hash) {
	t.Helper()
	if _, err := c.api2.Approve(t.Context(), approver, c.before.Tenant, c.before.ID, hash); err != nil {
		t.Fatal(err)
	}
}

func (c *carried) requalify(s *Service, hash Hash) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := s.Requalify(ctx, planner, c.before.Tenant, c.before.ID, hash)
		return err
	}
}

// finish resumes, and has a worker of the second build do the rest.
func (c *carried) finish(t *testing.T) {
	t.Helper()
	now := c.now(t, c.before.ID)
	resumed, err := c.api2.Resume(t.Context(), planner, now.Tenant, now.ID, now.PlanHash)
	if err != nil {
		t.Fatal(err)
	}
	c.publish(t, "orders", record.Publication{
		Key: "key-0001", OperationID: "anew", Bodies: map[string][]byte{"items": []byte("anew")}, Expect: record.Expectation{Revision: 1},
	})
	run, err := c.api2.Run(t.Context(), planner, resumed.Tenant, resumed.ID, resumed.PlanHash)
	if err != nil {
		t.Fatal(err)
	}
	if done := c.worked(t, c.worker2, run); done.Outcome != OutcomeDrained || done.Build != "build-2" {
		t.Errorf("the run is %+v", done)
	}
	if now := c.now(t, resumed.ID); now.State != Drained {
		t.Errorf("the migration is %s, %+v", now.State, now.Stop)
	}
	if diff := cmp.Diff(c.shownBefore, c.shown(t, "ledger")); diff != "" {
		t.Errorf("readers of the ledger see something else (-before +after)\n%s", diff)
	}
}

func TestRequalify_ChangesThePlansBuildAndNothingElse(t *testing.T) {
	t.Parallel()
	c := newCarried(t)
	was, rest := c.at(t), c.rest(t)
	if was["ledger"].DrainedAt.IsZero() || was["orders"].Moved == 0 || len(rest) != 3 {
		t.Fatalf("it isn't in the middle: %+v, %v", was, rest)
	}
	e, hash := c.envelope(t)
	if now := c.now(t, c.before.ID); now.Revision != c.before.Revision {
		t.Errorf("a preview took the migration to revision %d", now.Revision)
	}
	old, err := c.Plan(t.Context(), c.before.Tenant, c.before.ID, c.before.PlanHash)
	if err != nil {
		t.Fatal(err)
	}
	want := old.Packet
	want.Build, want.Floor, want.Qualification, want.LifecycleAt = "build-2", "build-2", e.Next.Qualification, e.Next.LifecycleAt
	if diff := cmp.Diff(want, e.Next); diff != "" || e.Next.Qualification == old.Packet.Qualification || !e.Next.LifecycleAt.After(old.Packet.LifecycleAt) {
		t.Errorf("the next plan (-want +got)\n%s", diff)
	}

	c.approve(t, hash)
	m, err := c.api2.Requalify(t.Context(), planner, c.before.Tenant, c.before.ID, hash)
	if err != nil {
		t.Fatal(err)
	}
	if m.PlanHash != e.NextHash || m.State != Paused || m.HeldBy != c.before.HeldBy || m.Envelope != (Hash{}) || !slices.Equal(m.Former, []Hash{c.before.PlanHash}) {
		t.Errorf("the migration is %+v", m)
	}
	is := c.at(t)
	if o := is["orders"]; o.PlanHash != e.NextHash || o.Build != "build-2" || o.token == was["orders"].token {
		t.Errorf("the orders go by %v of %s", o.PlanHash, o.Build)
	}
	if diff := cmp.Diff(was["ledger"], is["ledger"], cmp.AllowUnexported(Checkpoint{})); diff != "" {
		t.Errorf("the drained collection has changed\n%s", diff)
	}
	if diff := cmp.Diff(rest, c.rest(t)); diff != "" {
		t.Errorf("what should stay has changed (-before +after)\n%s", diff)
	}
	var acts []string
	all, err := c.Transitions(t.Context(), m.Tenant, m.ID)
	for _, a := range all[len(all)-4:] {
		acts = append(acts, a.Act)
	}
	if diff := cmp.Diff([]string{"pause", "approve", "requalify", "requalified"}, acts); err != nil || diff != "" {
		t.Errorf("%v; acts (-want +got)\n%s", err, diff)
	}
	c.finish(t)
}

// What a worker of the former build has prepared before must not commit, though the
// migration is active again and its checkpoint looks the same.
func TestRequalify_APassThatWasPreparedBeforeCantCommit(t *testing.T) {
	t.Parallel()
	c := newCarried(t)
	prepare := func() (*mover, *prepared) {
		old, err := c.mover(t.Context(), c.scope.Tenant, record.NumberOf("orders"), c.orders.ID)
		if err != nil {
			t.Fatal(err)
		}
		old.caps, _ = unlimited(t.Context())
		p := old.prepare(t.Context(), old.at.cursor())
		t.Cleanup(p.close)
		if p.err != nil || len(p.Sound) == 0 {
			t.Fatalf("the pass has %d records, %v", len(p.Sound), p.err)
		}
		return old, p
	}
	old, p := prepare()
	_, hash := c.envelope(t)
	c.approve(t, hash)
	if err := c.requalify(c.api2, hash)(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := c.rest(t)
	if err := old.commit(t.Context(), p); !errors.Is(err, errHeld) {
		t.Errorf("while it is held: %v", err)
	}
	now := c.now(t, c.before.ID)
	if _, err := c.api2.Resume(t.Context(), planner, now.Tenant, now.ID, now.PlanHash); err != nil {
		t.Fatal(err)
	}
	// Even a worker that calls itself by the next build and plan has the wrong token.
	old.Service, old.at.PlanHash, old.at.Build = c.worker2, now.PlanHash, "build-2"
	if err := old.commit(t.Context(), p); !errors.Is(err, errFenced) {
		t.Errorf("the former build's pass: %v", err)
	}
	if _, err := c.walk(t.Context(), c.scope.Tenant, record.NumberOf("orders"), c.orders.ID, once()); domain.CodeOf(err) != errOtherBuild.Code {
		t.Errorf("a walk of the former build: %v", err)
	}
	moved := func(all []string) (n int) {
		for _, one := range all {
			if strings.Contains(one, `"moved": 8`) {
				n++
			}
		}
		return n
	}
	if moved(before) != moved(c.rest(t)) {
		t.Errorf("something has moved: %v, %v", before, c.rest(t))
	}
}
