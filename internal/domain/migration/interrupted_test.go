package migration

import (
	"context"
	"net/http"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// R7: a migration whose caps are halved in the middle, that is paused, and paused
// twice, and worked on by many processes for a pass each, has the totals of one that
// nobody disturbed.
func TestTotals_AreTheSameHoweverOftenAMigrationIsInterrupted(t *testing.T) {
	t.Parallel()
	installation := newMoving(t)
	for _, kind := range []Kind{RecordBodies, Rehydrate} {
		var undisturbed Counters
		for _, disturbed := range []bool{false, true} {
			m := installation.another(t, kind)
			m.fill(t, "orders", 15)
			m.fill(t, "invoices", 5)
			before := m.question(t)
			active := m.active(t, kind)
			if disturbed {
				m.disturb(t, active)
			}
			m.finish(t, active.ID)
			m.unchanged(t, before)
			at := m.total(t, active)
			if !disturbed {
				undisturbed = at
			}
			if !at.sameWork(undisturbed) || at.Raced != 0 || at.Moved != 20 {
				t.Errorf("%s, disturbed %v: the totals are %+v, and undisturbed %+v", kind, disturbed, at, undisturbed)
			}
		}
	}
}

func (m *moving) disturb(t *testing.T, of Migration) {
	t.Helper()
	caps := DefaultCaps
	for range 3 {
		m.openRun(t, of)
		m.step(t, of, "orders")
		m.step(t, of, "invoices")
		caps = Caps{Inspected: caps.Inspected / 2, Records: max(1, caps.Records/2), Bytes: caps.Bytes / 2, InFlight: max(1, caps.InFlight/2)}
		if _, err := m.api.LowerCaps(t.Context(), planner, of.Tenant, of.ID, of.PlanHash, caps); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := m.api.Pause(t.Context(), planner, of.Tenant, of.ID, of.PlanHash); err != nil {
				t.Fatal(err)
			}
		}
		held := m.total(t, of)
		if ended := m.step(t, of, "orders"); ended != walkHeld || m.total(t, of) != held {
			t.Errorf("a pass of a paused migration came to %q, with %+v", ended, m.total(t, of))
		}
		for range 2 {
			if _, err := m.api.Resume(t.Context(), planner, of.Tenant, of.ID, of.PlanHash); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// R8: the first row fails at once after a resumption. The cursor stays where it is.
func TestResume_AFailureOnTheFirstRow_LeavesTheCursor(t *testing.T) {
	t.Parallel()
	installation := newMoving(t)
	for _, kind := range []Kind{RecordBodies, Rehydrate} {
		m := installation.another(t, kind)
		m.fill(t, "orders", 12)
		before := m.question(t)
		active := m.active(t, kind)
		m.step(t, active, "orders")
		if _, err := m.api.Pause(t.Context(), planner, active.Tenant, active.ID, active.PlanHash); err != nil {
			t.Fatal(err)
		}
		if _, err := m.api.Resume(t.Context(), planner, active.Tenant, active.ID, active.PlanHash); err != nil {
			t.Fatal(err)
		}
		was := m.at(t, active)[0]
		ctx, end := context.WithCancel(t.Context())
		m.faults.AtRandom(1, 1, func(*http.Request, func() (*http.Response, error)) (*http.Response, error) {
			end() // the process is told to stop with the first failure
			return nil, errCut
		})
		ended, err := m.walk(ctx, m.scope.Tenant, record.NumberOf("orders"), was.CollectionID, unlimited)
		if ended != walkSpent || err != nil {
			t.Errorf("the walk ended as %q, %v", ended, err)
		}
		m.faults.AtRandom(0, 0)
		if is := m.at(t, active)[0]; is != was {
			t.Errorf("the checkpoint is %+v, and was %+v", is, was)
		}
		m.unchanged(t, before)
		m.finish(t, active.ID)
		m.unchanged(t, before)
		if at := m.total(t, active); at.Moved != 12 {
			t.Errorf("the totals are %+v", at)
		}
	}
}
