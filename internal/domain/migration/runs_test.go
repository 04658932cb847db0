package migration

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

func TestPause_TakesEffectWithinAPass_AndNeverSticks(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 60)
	before := m.shown(t, "orders")
	active := m.active(t, RecordBodies)
	one := Caps{Inspected: 64, Records: 1, Bytes: minBytes, InFlight: 1}
	if _, err := m.api.LowerCaps(t.Context(), planner, active.Tenant, active.ID, active.PlanHash, one); err != nil {
		t.Fatal(err)
	}
	m.refused(t, "caps_raised", active.ID, func(ctx context.Context) error {
		_, err := m.api.LowerCaps(ctx, planner, active.Tenant, active.ID, active.PlanHash, DefaultCaps)
		return err
	})
	for paused := range 4 {
		run, err := m.api.Run(t.Context(), planner, active.Tenant, active.ID, active.PlanHash)
		if err != nil {
			t.Fatal(err)
		}
		ctx, held := context.WithCancel(t.Context())
		var pausing sync.WaitGroup
		pausing.Go(func() { // once it has moved some
			defer held()
			m.await(t, func() bool {
				at := m.total(t, active)
				return at.Moved > int64(paused*5)
			})
			for range 2 { // twice is as good as once
				if _, err := m.api.Pause(ctx, planner, active.Tenant, active.ID, active.PlanHash); err != nil {
					t.Errorf("pause: %v", err)
				}
			}
		})
		if ended, err := m.Work(t.Context(), active.Tenant, active.ID, run.ID, time.Now().Add(time.Minute)); !ended || err != nil {
			t.Fatalf("a paused run's shift: %v, %v", ended, err)
		}
		pausing.Wait()
		at := m.total(t, active)
		if now := m.now(t, active.ID); now.State != Paused || now.HeldBy != "planner" || m.lastRun(t, active.ID).Outcome != OutcomePaused {
			t.Fatalf("the migration is %s by %q", now.State, now.HeldBy)
		}
		if ended, err := m.Work(t.Context(), active.Tenant, active.ID, run.ID, time.Now().Add(time.Minute)); !ended || err != nil || m.total(t, active) != at {
			t.Errorf("a shift of a run that has ended did something: %v, %v", ended, err)
		}
		if _, err := m.api.Resume(t.Context(), planner, active.Tenant, active.ID, active.PlanHash); err != nil {
			t.Fatal(err)
		}
	}
	m.run(t, m.now(t, active.ID))
	if at := m.total(t, active); at.Moved != 60 || at.Raced != 0 || at.Passes != 60 {
		t.Errorf("interrupted four times the counters are %+v", at)
	}
	if diff := cmp.Diff(before, m.shown(t, "orders")); diff != "" {
		t.Errorf("readers see something else (-before +after)\n%s", diff)
	}
}

func (m *moving) total(t testing.TB, of Migration) Counters {
	t.Helper()
	all, err := m.api.checkpoints(t.Context(), &of)
	if err != nil {
		t.Fatal(err)
	}
	return totalOf(all)
}

// await waits until something is so.
func (m *moving) await(t testing.TB, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !so(); {
		if time.Now().After(deadline) {
			t.Error("it never came")
			return
		}
	}
}

func TestRun_StopsForAReview_AndGoesOnWithAnApproval(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 20)
	for _, db := range m.router.Databases() {
		if _, err := m.admin[db.Name].Exec(t.Context(), `UPDATE section_chunks SET content = overlay(content placing '\xff' from 1) WHERE item_key = 'key-0007' AND ordinal = 1`); err != nil {
			t.Fatal(err)
		}
	}
	active := m.active(t, RecordBodies)
	if run := m.run(t, active); run.Outcome != OutcomeStopped {
		t.Fatalf("the run is %+v", run)
	}
	stopped := m.now(t, active.ID)
	want := &Stop{From: Active, Category: SourceDefect, Collection: "orders", Key: "key-0007", Section: "decision-packets", NextStep: nextSteps[SourceDefect]}
	if diff := cmp.Diff(want, stopped.Stop); diff != "" {
		t.Errorf("stop (-want +got)\n%s", diff)
	}
	if at := m.total(t, active); at.Moved != 19 {
		t.Errorf("%d records are moved, want all but one", at.Moved)
	}
	resume := func(ctx context.Context) error {
		_, err := m.api.Resume(ctx, planner, active.Tenant, active.ID, active.PlanHash)
		return err
	}
	m.refused(t, "approval_missing", active.ID, resume)
	m.refused(t, "migration_state", active.ID, func(ctx context.Context) error {
		_, err := m.api.Run(ctx, planner, active.Tenant, active.ID, active.PlanHash)
		return err
	})
	m.publish(t, "orders", record.Publication{
		Key: "key-0007", OperationID: "anew", Bodies: map[string][]byte{"decision-packets": []byte("anew")}, Expect: record.Expectation{Revision: 1},
	})
	if _, err := m.api.Approve(t.Context(), approver, active.Tenant, active.ID, active.PlanHash); err != nil {
		t.Fatal(err)
	}
	if err := resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if run := m.run(t, m.now(t, active.ID)); run.Outcome != OutcomeDrained {
		t.Errorf("published anew, the run is %+v", run)
	}
}

// A tenant's gate closes in the middle of a run.
func TestRun_OfATenantWhoIsSuspendedStops_AndGoesOnWhenItIsOpen(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 20)
	before := m.shown(t, "orders")
	active := m.active(t, RecordBodies)
	run, err := m.api.Run(t.Context(), planner, active.Tenant, active.ID, active.PlanHash)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.api.control.SuspendTenant(t.Context(), operator("ada"), active.Tenant); err != nil {
		t.Fatal(err)
	}
	if ended := m.worked(t, m.Service, run); ended.Outcome != OutcomeStopped {
		t.Errorf("the run is %+v", ended)
	}
	if now := m.now(t, active.ID); now.State != Stopped || now.Stop.Category != TenantClosed {
		t.Errorf("the migration is %s for %+v", now.State, now.Stop)
	}
	if _, err := m.api.control.ResumeTenant(t.Context(), operator("ada"), active.Tenant); err != nil {
		t.Fatal(err)
	}
	if _, err := m.api.Approve(t.Context(), approver, active.Tenant, active.ID, active.PlanHash); err != nil {
		t.Fatal(err)
	}
	if _, err := m.api.Resume(t.Context(), planner, active.Tenant, active.ID, active.PlanHash); err != nil {
		t.Fatal(err)
	}
	if run := m.run(t, m.now(t, active.ID)); run.Outcome != OutcomeDrained {
		t.Errorf("the run is %+v", run)
	}
	if diff := cmp.Diff(before, m.shown(t, "orders")); diff != "" {
		t.Errorf("readers see something else (-before +after)\n%s", diff)
	}
}

// A row whose record is missing is met by no pass. It must neither be passed over
// nor keep the run going round and round.
func TestRun_WithRowsOfNoRecordStops(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 6)
	m.every(t, `DELETE FROM records WHERE item_key = 'key-0003'`)
	active := m.active(t, RecordBodies)
	if run := m.run(t, active); run.Outcome != OutcomeStopped {
		t.Fatalf("the run is %+v", run)
	}
	if now := m.now(t, active.ID); now.Stop == nil || now.Stop.Category != SourceDefect || now.Stop.Collection != "orders" || now.Stop.NextStep != stepForRows {
		t.Errorf("it is %s for %+v", now.State, now.Stop)
	}
	if at := m.total(t, active); at.Moved != 5 {
		t.Errorf("%d records are moved, want the other 5", at.Moved)
	}
}

// A collection whose checkpoint is gone must neither be passed over nor keep the run
// going round.
func TestRun_WithACollectionThatHasNotAcceptedThePlan_Stops_AndActivatingAgainTakesIt(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 4)
	m.fill(t, "invoices", 3)
	active := m.active(t, RecordBodies)
	m.every(t, `DELETE FROM migration_checkpoints WHERE collection = 'invoices'`)
	if run := m.run(t, active); run.Outcome != OutcomeStopped {
		t.Fatalf("the run is %+v", run)
	}
	if now := m.now(t, active.ID); now.Stop == nil || now.Stop.From != Activating || now.Stop.Collection != "invoices" {
		t.Fatalf("it is %s for %+v", now.State, now.Stop)
	}
	if _, err := m.api.Approve(t.Context(), approver, active.Tenant, active.ID, active.PlanHash); err != nil {
		t.Fatal(err)
	}
	if _, err := m.api.Resume(t.Context(), planner, active.Tenant, active.ID, active.PlanHash); err != nil {
		t.Fatal(err)
	}
	a, err := m.api.Activate(t.Context(), planner, active.Tenant, active.ID, active.PlanHash)
	if err != nil {
		t.Fatal(err)
	}
	if run := m.run(t, a.Migration); run.Outcome != OutcomeDrained {
		t.Errorf("the run is %+v", run)
	}
}
