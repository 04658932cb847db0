package migration

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// A new build comes when all is moved, and nothing is verified yet. Only the plan's
// build may verify: so the plan is carried over, and no collection changes by it.
func TestRequalify_OfWhatIsDrained_LetsTheNewBuildVerifyAndClose(t *testing.T) {
	t.Parallel()
	c := newCarried(t)
	id, tenant := c.before.ID, c.scope.Tenant
	c.publish(t, "orders", record.Publication{
		Key: "key-0001", OperationID: "anew", Bodies: map[string][]byte{"items": []byte("anew")}, Expect: record.Expectation{Revision: 1},
	})
	resumed, err := c.api.Resume(t.Context(), planner, tenant, id, c.before.PlanHash)
	if err != nil {
		t.Fatal(err)
	}
	c.run(t, resumed)
	verified := c.verified(t, id)
	rest := c.rest(t)
	plan, err := c.api.Plan(t.Context(), tenant, id, verified.PlanHash)
	if err != nil {
		t.Fatal(err)
	}
	if _, differs, err := c.api2.compareRuntime(t.Context(), &plan.Packet); differs != "build" || err != nil {
		t.Fatalf("the new build differs by %q, %v", differs, err)
	}

	e, hash := c.envelope(t)
	c.refused(t, "approval_missing", id, c.requalify(c.api2, hash))
	c.approve(t, hash)
	if err := c.requalify(c.api2, hash)(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.refused(t, "envelope_applied", id, c.requalify(c.api2, hash))
	now := c.now(t, id)
	if _, differs, err := c.api2.compareRuntime(t.Context(), &e.Next); now.State != Verified || now.PlanHash != e.NextHash || differs != "" || err != nil {
		t.Errorf("it is %s by %v; the new build differs by %q, %v", now.State, now.PlanHash, differs, err)
	}
	if diff := cmp.Diff(rest, c.rest(t)); diff != "" {
		t.Errorf("the checkpoints (-before +after)\n%s", diff)
	}

	// What the former build has verified closes nothing: not one collection.
	c.refused(t, "recheck_missing", id, func(ctx context.Context) error {
		_, err := c.api2.Close(ctx, planner, tenant, id, e.NextHash, "all is moved")
		return err
	})
	if n := c.counted(t, `SELECT count(*) FROM migration_checkpoints WHERE closed_at IS NOT NULL`); n != 0 {
		t.Errorf("%d collections are closed", n)
	}
	c.report(t, now, "recheck")
	if closed, err := c.api2.Close(t.Context(), planner, tenant, id, e.NextHash, "all is moved"); closed.State != Closed || err != nil {
		t.Errorf("it is %s, %v", closed.State, err)
	}
}
