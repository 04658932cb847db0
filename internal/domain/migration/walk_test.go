package migration

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

func TestWalk_MovesEverythingAndChangesNothingThatIsSeen(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	c := m.fill(t, "orders", 40)
	before := m.shown(t, "orders")
	if err := m.api.accept(t.Context(), &m.plan, c); err != nil {
		t.Fatal(err)
	}
	number := record.NumberOf("orders")
	ended, err := m.walk(t.Context(), m.scope.Tenant, number, c.ID, unlimited)
	if err != nil || ended != walkDrained {
		t.Fatalf("the walk ended as %q, %v", ended, err)
	}
	if diff := cmp.Diff(before, m.shown(t, "orders")); diff != "" {
		t.Errorf("readers see something else (-before +after)\n%s", diff)
	}
	at, err := m.read(t.Context(), m.scope.Tenant, number, c.ID)
	if err != nil {
		t.Fatal(err)
	}
	if at.Moved != 40 || at.Raced != 0 || at.DrainedAt.IsZero() || at.Uploads+at.Reuses == 0 {
		t.Errorf("the checkpoint is %+v", at)
	}
	for _, table := range []string{"sections_in_sql", "section_chunks"} {
		var left int
		for _, db := range m.router.Databases() {
			var here int
			if err := m.admin[db.Name].QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&here); err != nil {
				t.Fatal(err)
			}
			left += here
		}
		if left != 0 {
			t.Errorf("%d rows are left in %s", left, table)
		}
	}
}

// Two workers at once: the checkpoint's token lets one of them commit each pass,
// and the totals are those of one.
func TestWalk_TwoWorkersAtOnce_BesidePublishers(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	c := m.fill(t, "orders", 60)
	if err := m.api.accept(t.Context(), &m.plan, c); err != nil {
		t.Fatal(err)
	}
	second := m.process(t, postgres.RoleWorker, "build-1")
	number := record.NumberOf("orders")
	var workers, publishers sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for p := range 2 {
		publishers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				key := fmt.Sprintf("key-%04d", (i*7+p)%60)
				_, err := m.api.records.Publish(t.Context(), m.scope, "orders", nil, record.Publication{
					Key: key, OperationID: fmt.Sprintf("again-%d-%d", p, i), Bodies: map[string][]byte{"items": fmt.Appendf(nil, "%d by %d", i, p)},
					Expect: record.Expectation{Fence: &record.Fence{Key: fmt.Sprint(key, p), Revision: int64(i + 1)}},
				})
				if err != nil {
					t.Errorf("publish beside the walk: %v", err)
					return
				}
			}
		})
	}
	for _, s := range []*Service{m.Service, second} {
		workers.Go(func() {
			if ended, err := s.walk(t.Context(), m.scope.Tenant, number, c.ID, unlimited); err != nil || ended != walkDrained {
				t.Errorf("a walk ended as %q, %v", ended, err)
			}
		})
	}
	workers.Wait()
	stop()
	publishers.Wait()
	at, err := m.read(t.Context(), m.scope.Tenant, number, c.ID)
	if err != nil || at.DrainedAt.IsZero() || at.Moved > 60 {
		t.Errorf("the checkpoint is %+v, %v", at, err)
	}
	if n := len(m.shown(t, "orders")); n == 0 {
		t.Error("nothing is shown")
	}
}

func TestWalk_DefersWhatIsNotWhatItSays(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	c := m.fill(t, "orders", 10)
	for _, db := range m.router.Databases() {
		if _, err := m.admin[db.Name].Exec(t.Context(), `UPDATE sections_in_sql SET content = overlay(content placing '\xff' from 1) WHERE item_key = 'key-0004' AND section = 'items'`); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.api.accept(t.Context(), &m.plan, c); err != nil {
		t.Fatal(err)
	}
	number := record.NumberOf("orders")
	ended, err := m.walk(t.Context(), m.scope.Tenant, number, c.ID, unlimited)
	if err != nil || ended != walkUnresolved {
		t.Fatalf("the walk ended as %q, %v", ended, err)
	}
	m.publish(t, "orders", record.Publication{
		Key: "key-0004", OperationID: "anew", Bodies: map[string][]byte{"items": []byte("anew")}, Expect: record.Expectation{Revision: 1},
	})
	ended, err = m.walk(t.Context(), m.scope.Tenant, number, c.ID, unlimited)
	if err != nil || ended != walkDrained {
		t.Fatalf("published anew, the walk ended as %q, %v", ended, err)
	}
}
