package migration

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// wayBack is the plan by which a collection's bodies come back into SQL.
func (m *moving) wayBack() *Migration {
	back := m.plan
	back.Kind, back.PlanHash = Rehydrate, Hash{2}
	return &back
}

// closeCheckpoints has a collection's checkpoint closed, so that it may accept another plan.
func (m *moving) closeCheckpoints(t testing.TB) {
	t.Helper()
	for _, db := range m.router.Databases() {
		if _, err := m.admin[db.Name].Exec(t.Context(), `UPDATE migration_checkpoints SET closed_at = drained_at`); err != nil {
			t.Fatal(err)
		}
	}
}

// left counts the rows of a table, on all databases.
func (m *moving) left(t testing.TB, table string) (rows int) {
	t.Helper()
	for _, db := range m.router.Databases() {
		var here int
		if err := m.admin[db.Name].QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&here); err != nil {
			t.Fatal(err)
		}
		rows += here
	}
	return rows
}

// replace has an object deleted, and another one put in its place, unless that is
// nil.
func (m *moving) replace(t testing.TB, key string, body []byte) {
	t.Helper()
	bucket := testkit.OpenBodies(t, testkit.BodyStore(t))
	if err := bucket.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if body == nil {
		return
	}
	if _, err := bucket.Ensure(t.Context(), key, body, record.DigestOf(body), false); err != nil {
		t.Fatal(err)
	}
}

// through has a plan accepted, and walked to its end.
func (m *moving) through(t testing.TB, plan *Migration, c record.Collection) Checkpoint {
	t.Helper()
	if err := m.api.accept(t.Context(), plan, c); err != nil {
		t.Fatal(err)
	}
	number := record.NumberOf(c.Name)
	ended, err := m.walk(t.Context(), m.scope.Tenant, number, c.ID, unlimited)
	if err != nil || ended != walkDrained {
		t.Fatalf("the walk ended as %q, %v", ended, err)
	}
	at, err := m.read(t.Context(), m.scope.Tenant, number, c.ID)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestRehydrate_BringsEverythingBackAndChangesNothingThatIsSeen(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	c := m.fill(t, "orders", 40)
	before, sections, chunks := m.shown(t, "orders"), m.left(t, "sections_in_sql"), m.left(t, "section_chunks")
	there := m.through(t, &m.plan, c)
	m.closeCheckpoints(t)
	back := m.through(t, m.wayBack(), c)
	if diff := cmp.Diff(before, m.shown(t, "orders")); diff != "" {
		t.Errorf("readers see something else (-before +after)\n%s", diff)
	}
	if back.Moved != 40 || back.Raced != 0 || back.Bodies != there.Bodies || back.Bytes != there.Bytes || back.Uploads+back.Reuses != 0 {
		t.Errorf("the checkpoint is %+v, and was %+v", back, there)
	}
	for table, want := range map[string]int{"sections_in_sql": sections, "section_chunks": chunks, "sections_in_store": 0} {
		if n := m.left(t, table); n != want {
			t.Errorf("%d rows in %s, want %d", n, table, want)
		}
	}
	// And over again: what is in SQL has rows of their own, up to the frontier.
	m.closeCheckpoints(t)
	m.plan.PlanHash = Hash{3}
	if again := m.through(t, &m.plan, c); again.Moved != 40 || again.Reuses == 0 {
		t.Errorf("the checkpoint is %+v", again)
	}
	if diff := cmp.Diff(before, m.shown(t, "orders")); diff != "" {
		t.Errorf("readers see something else (-before +after)\n%s", diff)
	}
}

// An object that is gone, or is another one, keeps its record from moving, and the
// others go on. It moves when the object is there again.
func TestRehydrate_DefersWhatItsObjectsKeepBack(t *testing.T) {
	t.Parallel()
	for reason, instead := range map[string][]byte{record.DefectMissing: nil, record.DefectCorrupt: []byte("the one that is DAMAGED")} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			m := newMoving(t)
			c := m.fill(t, "orders", 3)
			body := []byte("the one that is damaged")
			m.publish(t, "orders", record.Publication{
				Key: "damaged", OperationID: "damaged", Bodies: map[string][]byte{"items": body}, Expect: record.Expectation{Absent: true},
			})
			m.through(t, &m.plan, c)
			m.closeCheckpoints(t)
			m.replace(t, fmt.Sprintf("tenants/%s/collections/%s/bodies/v1/sha256/%s", m.scope.Tenant, c.ID, record.DigestOf(body)), instead)
			if err := m.api.accept(t.Context(), m.wayBack(), c); err != nil {
				t.Fatal(err)
			}
			number := record.NumberOf("orders")
			ended, err := m.walk(t.Context(), m.scope.Tenant, number, c.ID, unlimited)
			if err != nil || ended != walkUnresolved {
				t.Fatalf("the walk ended as %q, %v", ended, err)
			}
			if n := m.left(t, "sections_in_store"); n != 1 {
				t.Errorf("%d rows are left in the store", n)
			}
			if _, err := m.api.records.Body(t.Context(), m.scope, "orders", "damaged", "items"); domain.CodeOf(err) != "body_unavailable" {
				t.Errorf("it reads as %v", err)
			}
			var why string
			db := m.admin[m.router.Database(number).Name]
			if err := db.QueryRow(t.Context(), `SELECT item_key || ' ' || section || ' ' || reason FROM migration_deferred`).Scan(&why); err != nil || why != "damaged items "+reason {
				t.Errorf("%q, %v", why, err)
			}
			m.publish(t, "orders", record.Publication{
				Key: "damaged", OperationID: "anew", Bodies: map[string][]byte{"items": []byte("anew")}, Expect: record.Expectation{Revision: 1},
			})
			ended, err = m.walk(t.Context(), m.scope.Tenant, number, c.ID, unlimited)
			if err != nil || ended != walkDrained || m.left(t, "migration_deferred") != 0 {
				t.Fatalf("published anew, the walk ended as %q, %v", ended, err)
			}
		})
	}
}
