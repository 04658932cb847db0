package migration

import (
	"context"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// age has a plan's counts be of two hours ago.
func (m *moving) age(t *testing.T, p Plan) {
	t.Helper()
	_, err := m.in.Admin(t, "control").Exec(t.Context(), `UPDATE migration_plans SET counted_at = counted_at - interval '2 hours' WHERE plan_hash = $1`, p.Hash[:])
	if err != nil {
		t.Fatal(err)
	}
}

// Counts that are more than an hour old are made anew, and looked at, before a plan
// is approved. The plan stays the same one.
func TestApprove_CountsAnewWhatWasCountedLongAgo(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 3)
	shown, plan := m.previewed(t, m.ask(t, RecordBodies))
	m.publish(t, "orders", record.Publication{
		Key: "since", OperationID: "since", Bodies: map[string][]byte{"items": []byte("since")}, Expect: record.Expectation{Absent: true},
	})
	m.age(t, plan)
	approve := func(ctx context.Context) error {
		_, err := m.api.Approve(ctx, approver, shown.Tenant, shown.ID, plan.Hash)
		return err
	}
	m.refused(t, "counts_refreshed", shown.ID, approve)
	fresh, err := m.api.Plan(t.Context(), shown.Tenant, shown.ID, plan.Hash)
	if err != nil || fresh.Text != plan.Text || fresh.Observations.Bytes() <= plan.Observations.Bytes() {
		t.Errorf("counted anew are %d bytes, before %d; %v", fresh.Observations.Bytes(), plan.Observations.Bytes(), err)
	}
	if err := approve(t.Context()); err != nil {
		t.Errorf("of fresh counts: %v", err)
	}
}

// What came since the plan was made needs room too.
func TestApprove_TheWayBackStillNeedsItsRoom(t *testing.T) {
	t.Parallel()
	m := newMoving(t).another(t, Rehydrate)
	m.fill(t, "orders", 3)
	shown, plan := m.previewed(t, m.ask(t, Rehydrate))
	need := plan.Observations.Bytes()
	shown, plan, err := m.api.Preview(t.Context(), planner, shown.Tenant, shown.ID, Preview{
		Qualification: plan.Packet.Qualification, FreeBytes: need + need*roomAbove/100,
	})
	if err != nil {
		t.Fatal(err)
	}
	m.publish(t, "orders", record.Publication{
		Key: "since", OperationID: "since", Bodies: map[string][]byte{"items": []byte("since")}, Expect: record.Expectation{Absent: true},
	})
	m.age(t, plan)
	for _, code := range []string{"counts_refreshed", "capacity_short"} {
		m.refused(t, code, shown.ID, func(ctx context.Context) error {
			_, err := m.api.Approve(ctx, approver, shown.Tenant, shown.ID, plan.Hash)
			return err
		})
	}
}
