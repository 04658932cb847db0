package migration

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A migration that is stopped for a review stays so: carrying it over is no
// approval of going on.
func TestRequalify_AStopStaysAStop(t *testing.T) {
	t.Parallel()
	c := newCarried(t)
	id := c.before.ID
	stopped, err := c.api.stop(t.Context(), c.scope.Tenant, id, Stop{Category: SourceDefect, Collection: "orders", Key: "key-0001", NextStep: "Look."})
	if err != nil || stopped.State != Stopped {
		t.Fatalf("it is %s, %v", stopped.State, err)
	}
	e, hash := c.envelope(t)
	c.approve(t, hash)
	m, err := c.api2.Requalify(t.Context(), planner, c.scope.Tenant, id, hash)
	if err != nil || m.State != Stopped || m.PlanHash != e.NextHash {
		t.Fatalf("it is %s by %v, %v", m.State, m.PlanHash, err)
	}
	if diff := cmp.Diff(stopped.Stop, m.Stop); diff != "" {
		t.Errorf("why it is stopped (-before +after)\n%s", diff)
	}
	c.refused(t, "approval_missing", id, func(ctx context.Context) error {
		_, err := c.api2.Resume(ctx, planner, c.scope.Tenant, id, e.NextHash)
		return err
	})
	c.approve(t, e.NextHash)
	c.finish(t)
}
