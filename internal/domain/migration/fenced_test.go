package migration

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// held is a fault that holds a request until it is let go.
type held struct{ met, released chan struct{} }

func newHeld() *held { return &held{make(chan struct{}), make(chan struct{})} }

func (h *held) fault(_ *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
	close(h.met)
	<-h.released
	return pass()
}

// R18: a pass that takes longer than it takes River to give its job to another
// worker. That one goes through all of the migration; the first can't commit what it
// has prepared, and counts nothing.
func TestRun_APassThatOutlivesItsJob_IsFenced(t *testing.T) {
	t.Parallel()
	for _, kind := range []Kind{RecordBodies, Rehydrate} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			m := newMoving(t).another(t, kind)
			m.fill(t, "orders", 12)
			before := m.question(t)
			active := m.active(t, kind)
			run := m.openRun(t, active)
			second := m.process(t, postgres.RoleWorker, "build-1")
			h := newHeld()
			m.onBodies("GET", h.fault)
			var first sync.WaitGroup
			first.Go(func() {
				if ended, err := m.Work(t.Context(), run.Tenant, run.Migration, run.ID, time.Now().Add(time.Minute)); !ended || err != nil {
					t.Errorf("the first's shift: %v, %v", ended, err)
				}
			})
			<-h.met
			if run := m.worked(t, second, run); run.Outcome != OutcomeDrained {
				t.Errorf("the run is %+v", run)
			}
			drained := m.total(t, active)
			close(h.released)
			first.Wait()
			if at := m.total(t, active); at != drained || at.Moved != 12 {
				t.Errorf("the totals are %+v, and were %+v", at, drained)
			}
			if now := m.now(t, active.ID); now.State != Drained {
				t.Errorf("the migration is %s for %+v", now.State, now.Stop)
			}
			m.unchanged(t, before)
		})
	}
}

// The same pass across a change of the build: what the former build has prepared
// can't commit under the plan of the next one.
func TestRequalify_APassThatTheFormerBuildPrepared_IsRefused(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 12)
	before := m.question(t)
	active := m.active(t, RecordBodies)
	run := m.openRun(t, active)
	h := newHeld()
	m.onBodies("GET", h.fault)
	var former sync.WaitGroup
	former.Go(func() {
		if ended, err := m.Work(t.Context(), run.Tenant, run.Migration, run.ID, time.Now().Add(time.Minute)); !ended || err != nil {
			t.Errorf("the former's shift: %v, %v", ended, err)
		}
	})
	<-h.met
	paused, err := m.api.Pause(t.Context(), planner, active.Tenant, active.ID, active.PlanHash)
	if err != nil {
		t.Fatal(err)
	}
	next := m.process(t, postgres.RoleAPI, "build-2")
	envelope, err := next.RequalifyPreview(t.Context(), planner, paused.Tenant, paused.ID, paused.PlanHash, m.qualified(t, next))
	if err != nil {
		t.Fatal(err)
	}
	hash, err := hashOf(envelope)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := next.Approve(t.Context(), approver, paused.Tenant, paused.ID, hash); err != nil {
		t.Fatal(err)
	}
	carried, err := next.Requalify(t.Context(), planner, paused.Tenant, paused.ID, hash)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := next.Resume(t.Context(), planner, carried.Tenant, carried.ID, carried.PlanHash); err != nil {
		t.Fatal(err)
	}
	close(h.released) // no checkpoint is held any more
	former.Wait()
	if at := m.total(t, active); at.Moved != 0 || at.Passes != 0 {
		t.Errorf("the former build has committed %+v", at)
	}
	m.unchanged(t, before)
	m.api, m.Service = next, m.process(t, postgres.RoleWorker, "build-2")
	if run := m.run(t, m.now(t, active.ID)); run.Outcome != OutcomeDrained {
		t.Errorf("the run is %+v", run)
	}
	m.unchanged(t, before)
}
