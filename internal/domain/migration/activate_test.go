package migration

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func TestApprove_IsByAnotherPerson_OfWhatIsPlannedNow_AndUsedOnce(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 3)
	asked := m.ask(t, RecordBodies, "Orders") // in its one form
	shown, plan := m.previewed(t, asked)
	approve := func(by tenancy.Scope, hash Hash) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			_, err := m.api.Approve(ctx, by, shown.Tenant, shown.ID, hash)
			return err
		}
	}
	m.refused(t, "approver_is_involved", asked.ID, approve(asker, plan.Hash))
	m.refused(t, "approver_is_involved", asked.ID, approve(planner, plan.Hash))
	m.refused(t, "approver_is_involved", asked.ID, approve(operator("planner"), plan.Hash)) // with another key
	m.refused(t, "plan_hash_differs", asked.ID, approve(approver, Hash{7}))
	approved := m.approved(t, asked)
	m.refused(t, "migration_state", asked.ID, approve(approver, approved.PlanHash))

	// A plan that is made anew has to be approved anew, though it says the same.
	shown, plan = m.previewed(t, asked)
	activate := func(ctx context.Context) error {
		_, err := m.api.Activate(ctx, planner, shown.Tenant, shown.ID, plan.Hash)
		return err
	}
	m.refused(t, "migration_state", asked.ID, activate)
	m.baseline(t, shown)
	if err := approve(approver, plan.Hash)(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := activate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := activate(t.Context()); err != nil {
		t.Errorf("whoever lost the answer gets %v", err)
	}
	var used int
	control := m.in.Admin(t, "control")
	if err := control.QueryRow(t.Context(), `SELECT count(*) FROM migration_approvals WHERE used_at IS NOT NULL`).Scan(&used); err != nil || used != 1 {
		t.Errorf("%d approvals are used up, %v", used, err)
	}
}

func TestActivate_NeedsABaseline(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 3)
	shown, plan := m.previewed(t, m.ask(t, RecordBodies))
	if _, err := m.api.Approve(t.Context(), approver, shown.Tenant, shown.ID, plan.Hash); err != nil {
		t.Fatal(err)
	}
	m.refused(t, "baseline_missing", shown.ID, func(ctx context.Context) error {
		_, err := m.api.Activate(ctx, planner, shown.Tenant, shown.ID, plan.Hash)
		return err
	})
	if n := m.counted(t, `SELECT count(*) FROM migration_checkpoints`); n != 0 {
		t.Errorf("%d collections have accepted the plan", n)
	}
}

func TestAbortAndActivateAtOnce_OneWins(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 2)
	for range 5 {
		approved := m.approved(t, m.ask(t, RecordBodies, "orders"))
		var both sync.WaitGroup
		var aborted, activated error
		both.Go(func() { _, aborted = m.api.Abort(t.Context(), asker, approved.Tenant, approved.ID, approved.PlanHash) })
		both.Go(func() {
			_, activated = m.api.Activate(t.Context(), planner, approved.Tenant, approved.ID, approved.PlanHash)
		})
		both.Wait()
		if (aborted == nil) == (activated == nil) {
			t.Fatalf("aborting came to %v, activating to %v", aborted, activated)
		}
		want := Aborted
		if activated == nil {
			want = Active
		}
		now := m.now(t, approved.ID)
		if checkpoints := m.counted(t, `SELECT count(*) FROM migration_checkpoints WHERE migration_id = $1`, approved.ID); now.State != want || (want == Active) != (checkpoints == 1) {
			t.Errorf("the migration is %s with %d checkpoints, want %s", now.State, checkpoints, want)
		}
		if want == Active {
			return // the collection goes by that plan now
		}
	}
}

func TestActivate_TwoPlansForOneCollection_TheOtherIsRefused(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 2)
	m.fill(t, "invoices", 2)
	first, second, apart := m.approved(t, m.ask(t, RecordBodies, "orders")), m.approved(t, m.ask(t, RecordBodies)), m.approved(t, m.ask(t, RecordBodies, "invoices"))
	if _, err := m.api.Activate(t.Context(), planner, first.Tenant, first.ID, first.PlanHash); err != nil {
		t.Fatal(err)
	}
	m.refused(t, "migration_under_way", second.ID, func(ctx context.Context) error {
		_, err := m.api.Activate(ctx, planner, second.Tenant, second.ID, second.PlanHash)
		return err
	})
	if _, err := m.api.Activate(t.Context(), planner, apart.Tenant, apart.ID, apart.PlanHash); err != nil {
		t.Errorf("one of other collections is refused: %v", err)
	}
	c, err := m.api.records.Collection(t.Context(), m.scope, "orders")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.api.accept(t.Context(), &second, c); domain.CodeOf(err) != "plan_differs" {
		t.Errorf("the collection took another plan: %v", err)
	}
}

func TestEveryStage_RefusesAPlanThatIsNotSoAnyMore(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 3)
	other := m.process(t, postgres.RoleAPI, "build-2")
	shown, plan := m.previewed(t, m.ask(t, RecordBodies))
	m.refused(t, "plan_drifted", shown.ID, func(ctx context.Context) error {
		_, err := other.Approve(ctx, approver, shown.Tenant, shown.ID, plan.Hash)
		return err
	})
	found, err := other.Drift(t.Context(), shown.Tenant, shown.ID)
	want := []Drift{{"/build", `"build-1"`, `"build-2"`}, {"/rollback_floor_build", `"build-1"`, `"build-2"`}}
	if diff := cmp.Diff(want, found); diff != "" || err != nil {
		t.Errorf("drift %v (-want +got)\n%s", err, diff)
	}
	approved := m.approved(t, shown)
	m.refused(t, "plan_drifted", shown.ID, func(ctx context.Context) error {
		_, err := other.Activate(ctx, planner, approved.Tenant, approved.ID, approved.PlanHash)
		return err
	})
	a, err := m.api.Activate(t.Context(), planner, approved.Tenant, approved.ID, approved.PlanHash)
	if err != nil {
		t.Fatal(err)
	}
	m.refused(t, "plan_drifted", shown.ID, func(ctx context.Context) error {
		_, err := other.Run(ctx, planner, a.Tenant, a.ID, a.PlanHash)
		return err
	})
	run, err := m.api.Run(t.Context(), planner, a.Tenant, a.ID, a.PlanHash)
	if err != nil {
		t.Fatal(err)
	}
	m.refused(t, "build_differs", shown.ID, func(ctx context.Context) error {
		_, err := other.Work(ctx, a.Tenant, a.ID, run.ID, time.Now().Add(time.Second))
		return err
	})
}

// An activation that a new build meets halfway stops, is carried over, and goes on
// there; a collection that a slow activation of the former build had meanwhile
// accept the former plan is carried over too.
func TestActivate_HalfwayUnderAnotherBuild_IsCarriedOverAndGoesOn(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 4)
	late := m.fill(t, "invoices", 3)
	before := m.shown(t, "invoices")
	approved := m.approved(t, m.ask(t, RecordBodies))
	activating, err := m.api.commence(t.Context(), planner, &approved) // and its process dies
	if err != nil {
		t.Fatal(err)
	}
	second := m.process(t, postgres.RoleAPI, "build-2")
	if _, err := second.Activate(t.Context(), planner, approved.Tenant, approved.ID, approved.PlanHash); domain.CodeOf(err) != "plan_drifted" {
		t.Fatalf("another build went on: %v", err)
	}
	if now := m.now(t, approved.ID); now.State != Stopped || now.Stop.Category != BuildDiffers || now.Stop.From != Activating {
		t.Fatalf("it is %s for %+v", now.State, now.Stop)
	}
	envelope, err := second.RequalifyPreview(t.Context(), planner, approved.Tenant, approved.ID, approved.PlanHash, m.qualified(t, second))
	if err != nil {
		t.Fatal(err)
	}
	hash, err := envelope.Hash()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.Approve(t.Context(), approver, approved.Tenant, approved.ID, hash); err != nil {
		t.Fatal(err)
	}
	carried, err := second.Requalify(t.Context(), planner, approved.Tenant, approved.ID, hash)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.api.accept(t.Context(), &activating, late); err != nil { // the slow one
		t.Fatal(err)
	}
	if _, err := second.Approve(t.Context(), approver, approved.Tenant, approved.ID, carried.PlanHash); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Resume(t.Context(), planner, approved.Tenant, approved.ID, carried.PlanHash); err != nil {
		t.Fatal(err)
	}
	a, err := second.Activate(t.Context(), planner, approved.Tenant, approved.ID, carried.PlanHash)
	if err != nil || a.State != Active || len(a.Collections) != 2 {
		t.Fatalf("the activation is %+v, %v", a, err)
	}
	run, err := second.Run(t.Context(), planner, a.Tenant, a.ID, a.PlanHash)
	if err != nil {
		t.Fatal(err)
	}
	if run := m.worked(t, m.process(t, postgres.RoleWorker, "build-2"), run); run.Outcome != OutcomeDrained {
		t.Errorf("the run is %+v", run)
	}
	if diff := cmp.Diff(before, m.shown(t, "invoices")); diff != "" {
		t.Errorf("readers see something else (-before +after)\n%s", diff)
	}
}
