package migration

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
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
