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

// A worker that died, or a tenant's closed gate, may have kept a stop from holding
// all checkpoints. Pausing what is stopped does that, and nothing else.
func TestPause_OfWhatIsStopped_HoldsWhatTheStopDidNot(t *testing.T) {
	t.Parallel()
	c := newCarried(t)
	id, plan := c.before.ID, c.before.PlanHash
	stopped, err := c.api.stop(t.Context(), c.scope.Tenant, id, Stop{Category: TenantClosed, NextStep: "Look."})
	if err != nil || stopped.State != Stopped {
		t.Fatalf("it is %s, %v", stopped.State, err)
	}
	c.every(t, `UPDATE migration_checkpoints SET held = false, held_at = held_at - 1`)
	qualification := c.qualified(t, c.api2)
	c.refused(t, "checkpoints_not_held", id, func(ctx context.Context) error {
		_, err := c.api2.RequalifyPreview(ctx, planner, c.scope.Tenant, id, plan, qualification)
		return err
	})
	c.refused(t, "", id, func(ctx context.Context) error {
		_, err := c.api.Pause(ctx, planner, c.scope.Tenant, id, plan)
		return err
	})
	if _, err := c.api2.RequalifyPreview(t.Context(), planner, c.scope.Tenant, id, plan, qualification); err != nil {
		t.Errorf("behind it: %v", err)
	}
}
