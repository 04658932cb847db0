package purge

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// A legal hold stops a purge between any two of its steps: nothing more goes until it
// is lifted, and then the purge goes on to its end.
func TestHold_StopsAPurgeBetweenAnyTwoSteps(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	tenant, w := s.doomed(t), s.worker(t)
	had, stopped := s.rowsOf(t, tenant), map[string]bool{}
	for {
		p := s.progress(t, tenant)
		if !p.PurgedAt.IsZero() {
			break
		}
		if !stopped[p.Step] {
			stopped[p.Step] = true
			s.expectStopped(t, w, tenant)
		}
		more, err := w.Step(t.Context(), tenant)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			s.clock.advance(DefaultSettle)
		}
	}
	_, err := s.store.HoldTenant(t.Context(), ada, tenant, "too late")
	expectCode(t, err, domain.KindConflict, "tenant_purged")
	s.finish(t, w, tenant)
	s.expectGone(t, tenant, had, 3, 2)
	if len(stopped) != 13 { // the first is before any step
		t.Errorf("it was stopped at %d steps: %v", len(stopped), stopped)
	}
}

func (s *scene) expectStopped(t *testing.T, w *Service, tenant domain.TenantID) {
	t.Helper()
	if _, err := s.store.HoldTenant(t.Context(), grace, tenant, "a lawsuit"); err != nil {
		t.Fatal(err)
	}
	rows, objects, jobs, at := s.rowsOf(t, tenant), s.objectsOf(t, tenant), s.jobsOf(t, tenant), s.progress(t, tenant)
	for range 3 {
		if more, err := w.Step(t.Context(), tenant); more || err != nil {
			t.Errorf("a step of a held tenant at %q is %v, %v", at.Step, more, err)
		}
	}
	if due, err := w.Due(t.Context(), 10); err != nil || len(due) != 0 {
		t.Errorf("due of a held tenant at %q are %v, %v", at.Step, due, err)
	}
	if diff := cmp.Diff(rows, s.rowsOf(t, tenant)); diff != "" || s.objectsOf(t, tenant) != objects || s.jobsOf(t, tenant) != jobs {
		t.Errorf("something went at %q (-before +after):\n%s", at.Step, diff)
	}
	if diff := cmp.Diff(at, s.progress(t, tenant)); diff != "" {
		t.Errorf("the purge went on at %q:\n%s", at.Step, diff)
	}
	if _, err := s.store.LiftHold(t.Context(), ada, tenant); err != nil {
		t.Fatal(err)
	}
}

// A hold that comes in the middle of a step waits for a pass that is under way, and
// lets no other begin.
func TestHold_ThatComesInTheMiddleClosesTheGates(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	tenant, w := s.doomed(t), s.worker(t)
	for s.progress(t, tenant).Step != stepRows {
		if _, err := w.Step(t.Context(), tenant); err != nil {
			t.Fatal(err)
		}
	}
	p, err := w.load(t.Context(), tenant)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.HoldTenant(t.Context(), ada, tenant, "a lawsuit"); err != nil {
		t.Fatal(err)
	}
	before := s.rowsOf(t, tenant)
	_, err = w.purgeNumbers(t.Context(), p) // by who had asked before
	expectCode(t, err, domain.KindForbidden, "tenant_closed")
	if diff := cmp.Diff(before, s.rowsOf(t, tenant)); diff != "" {
		t.Errorf("something went:\n%s", diff)
	}
	if p := s.progress(t, tenant); p.Stalled != "" {
		t.Errorf("it stalled for %q", p.Stalled)
	}
	held, err := s.store.Tenant(t.Context(), ada, tenant)
	if err != nil || held.State != tenancy.TenantPurging || held.Hold == nil || held.Hold.Reason != "a lawsuit" || held.Hold.By != "ada" {
		t.Errorf("the tenant is %+v, %v", held, err)
	}
}
