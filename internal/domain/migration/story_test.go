package migration

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

func TestMigration_FromARequestToItsClose(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 30)
	m.fill(t, "invoices", 12)
	before := map[string][]string{"orders": m.shown(t, "orders"), "invoices": m.shown(t, "invoices")}

	asked := m.ask(t, RecordBodies)
	active, err := m.api.Activate(t.Context(), planner, asked.Tenant, asked.ID, Hash{1})
	if domain.CodeOf(err) != "plan_hash_differs" {
		t.Errorf("activated without a plan: %+v, %v", active, err)
	}
	approved := m.approved(t, asked)
	active, err = m.api.Activate(t.Context(), planner, approved.Tenant, approved.ID, approved.PlanHash)
	if err != nil || active.State != Active || len(active.Collections) != 2 || active.PointOfNoReturn == "" {
		t.Fatalf("activation = %+v, %v", active, err)
	}
	later, _, err := m.api.records.CreateCollection(t.Context(), m.scope, record.NewCollection{Name: "later"})
	if err != nil || later.Format != record.FormatStore {
		t.Errorf("a collection that came later begins in format %d, %v", later.Format, err)
	}
	run := m.run(t, active.Migration)
	if now := m.now(t, asked.ID); run.Outcome != OutcomeDrained || run.Passes == 0 || now.State != Drained {
		t.Errorf("the run is %+v, and the migration %s", run, now.State)
	}
	verified := m.verified(t, asked.ID)
	m.refused(t, "decision_missing", asked.ID, func(ctx context.Context) error {
		_, err := m.api.Close(ctx, planner, verified.Tenant, verified.ID, verified.PlanHash, " ")
		return err
	})
	for range 2 { // as often as one likes
		closed, err := m.api.Close(t.Context(), planner, verified.Tenant, verified.ID, verified.PlanHash, "all bodies are in the bucket")
		if err != nil || closed.State != Closed {
			t.Errorf("closed = %+v, %v", closed, err)
		}
	}
	for name, shown := range before {
		if diff := cmp.Diff(shown, m.shown(t, name)); diff != "" {
			t.Errorf("readers see something else of %s (-before +after)\n%s", name, diff)
		}
	}
	wantActs(t, m, asked.ID, "request", "preview", "approve", "activate", "activate", "drain", "verify", "close")
	if sealed := m.counted(t, `SELECT count(*) FROM collections WHERE sealed`); sealed != 3 {
		t.Errorf("%d collections are sealed, want all 3", sealed)
	}
}

// verified is a drained migration whose recheck has passed. What a real one reads is
// tested with verifications.
func (m *moving) verified(t testing.TB, id domain.MigrationID) Migration {
	t.Helper()
	drained := m.now(t, id)
	m.report(t, drained, "recheck")
	next, err := m.api.transit(t.Context(), &drained, step{act: "verify", to: Verified, by: actorOf(planner)})
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func wantActs(t testing.TB, m *moving, id domain.MigrationID, want ...string) {
	t.Helper()
	all, err := m.api.Transitions(t.Context(), m.scope.Tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	var acts []string
	for i, tr := range all {
		if acts = append(acts, tr.Act); tr.Revision != int64(i+1) || tr.Actor.Name == "" || tr.At.IsZero() {
			t.Errorf("transition %+v", tr)
		}
	}
	if diff := cmp.Diff(want, acts); diff != "" {
		t.Errorf("acts (-want +got)\n%s", diff)
	}
}

// counted adds a count up over the data databases.
func (m *moving) counted(t testing.TB, sql string, args ...any) (sum int) {
	t.Helper()
	for _, db := range m.router.Databases() {
		var here int
		if err := m.admin[db.Name].QueryRow(t.Context(), sql, args...).Scan(&here); err != nil {
			t.Fatal(err)
		}
		sum += here
	}
	return sum
}
