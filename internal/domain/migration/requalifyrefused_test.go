package migration

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

func TestRequalifyPreview_Refuses(t *testing.T) {
	t.Parallel()
	c := newCarried(t)
	id, plan := c.before.ID, c.before.PlanHash
	good := c.qualified(t, c.api2)
	preview := func(s *Service, plan, qualification Hash) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := s.RequalifyPreview(ctx, planner, c.scope.Tenant, id, plan, qualification)
			return err
		}
	}
	c.refused(t, "build_same", id, preview(c.api, plan, c.qualified(t, c.api)))
	c.refused(t, "plan_hash_differs", id, preview(c.api2, Hash{7}, good))
	c.refused(t, "qualification_missing", id, preview(c.api2, plan, Hash{7}))
	c.refused(t, "qualification_differs", id, preview(c.api2, plan, c.qualified(t, c.api)))
	runtime, err := c.api2.Runtime(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bad := Qualification{Type: QualificationType, Build: runtime.Build, StartedAt: time.Unix(1, 0).UTC(), Databases: byName(runtime.Databases), Store: runtime.Store}
	failed, err := c.api2.RecordQualification(t.Context(), bad)
	if err != nil {
		t.Fatal(err)
	}
	c.refused(t, "qualification_failed", id, preview(c.api2, plan, failed))
	bad.Passed, bad.Databases = true, bad.Databases[1:]
	elsewhere, err := c.api2.RecordQualification(t.Context(), bad)
	if err != nil {
		t.Fatal(err)
	}
	c.refused(t, "qualification_differs", id, preview(c.api2, plan, elsewhere))

	// A pause that was interrupted holds some and not others.
	c.every(t, `UPDATE migration_checkpoints SET held = false WHERE collection = 'orders'`)
	c.refused(t, "checkpoints_not_held", id, preview(c.api2, plan, good))
	c.every(t, `UPDATE migration_checkpoints SET held = true WHERE collection = 'orders'`)
	c.every(t, `UPDATE migration_checkpoints SET plan_hash = '\x`+Hash{9}.String()+`' WHERE collection = 'orders'`)
	c.refused(t, "envelope_stale", id, preview(c.api2, plan, good))
	c.every(t, `UPDATE migration_checkpoints SET plan_hash = '\x`+plan.String()+`' WHERE collection = 'orders'`)

	if err := preview(c.api2, plan, good)(t.Context()); err != nil {
		t.Errorf("when all is well: %v", err)
	}
	if _, err := c.api.Resume(t.Context(), planner, c.scope.Tenant, id, plan); err != nil {
		t.Fatal(err)
	}
	c.refused(t, "migration_state", id, preview(c.api2, plan, good))
}

// A stored plan that was changed by hand isn't what was approved.
func TestRequalifyPreview_RefusesAPlanThatIsntItsHash(t *testing.T) {
	t.Parallel()
	c := newCarried(t)
	control := c.in.Admin(t, "control")
	if _, err := control.Exec(t.Context(), `UPDATE migration_plans SET packet = replace(packet, '"records":4', '"records":3')`); err != nil {
		t.Fatal(err)
	}
	if _, err := c.api2.RequalifyPreview(t.Context(), planner, c.scope.Tenant, c.before.ID, c.before.PlanHash, c.qualified(t, c.api2)); err == nil {
		t.Error("it was carried over")
	}
}

func TestRequalify_RefusesWhatIsntApproved(t *testing.T) {
	t.Parallel()
	c := newCarried(t)
	id := c.before.ID
	_, hash := c.envelope(t)
	c.refused(t, "envelope_not_found", id, c.requalify(c.api2, Hash{7}))
	c.refused(t, "approval_missing", id, c.requalify(c.api2, hash))
	c.refused(t, "approver_is_involved", id, func(ctx context.Context) error {
		_, err := c.api2.Approve(ctx, planner, c.scope.Tenant, id, hash)
		return err
	})
	c.approve(t, hash)
	c.refused(t, "build_differs", id, c.requalify(c.api, hash))
	lower := *c.before.Caps
	lower.Records = 2
	if _, err := c.api2.LowerCaps(t.Context(), planner, c.scope.Tenant, id, c.before.PlanHash, lower); err != nil {
		t.Fatal(err)
	}
	if err := c.requalify(c.api2, hash)(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := c.now(t, id); now.Caps.Records != 2 { // as they were lowered, and not the plan's
		t.Errorf("the caps are %+v", now.Caps)
	}
	c.refused(t, "envelope_applied", id, c.requalify(c.api2, hash))
}

// Passes were made since the preview: what was approved then isn't so any more.
func TestRequalify_RefusesAStaleEnvelope(t *testing.T) {
	t.Parallel()
	c := newCarried(t)
	id := c.before.ID
	stale, hash := c.envelope(t)
	if _, err := c.api.Resume(t.Context(), planner, c.scope.Tenant, id, c.before.PlanHash); err != nil {
		t.Fatal(err)
	}
	c.passes(t, c.Service, 1)
	if _, err := c.api.Pause(t.Context(), planner, c.scope.Tenant, id, c.before.PlanHash); err != nil {
		t.Fatal(err)
	}
	c.refused(t, "envelope_stale", id, c.requalify(c.api2, hash))
	c.approve(t, hash)
	c.refused(t, "envelope_stale", id, c.requalify(c.api2, hash))
	for i := range stale.Checkpoints {
		if was := &stale.Checkpoints[i]; !was.Drained {
			if err := c.api2.carryOver(t.Context(), &stale, was); err == nil {
				t.Errorf("%s was carried over from a checkpoint that it hasn't any more", was.Collection)
			}
		}
	}
	_, fresh := c.envelope(t)
	c.approve(t, fresh)
	if err := c.requalify(c.api2, fresh)(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.refused(t, "envelope_stale", id, c.requalify(c.api2, hash))
	c.finish(t)
}

// A collection is carried over from exactly the checkpoint that was approved.
func TestCarryOver_RefusesAnyOtherCheckpoint(t *testing.T) {
	t.Parallel()
	c := newCarried(t)
	e, _ := c.envelope(t)
	was := e.Checkpoints[0]
	if was.Drained {
		was = e.Checkpoints[1]
	}
	for _, change := range []struct{ to, back string }{
		{`token = gen_random_uuid()`, `token = '` + was.Token.String() + `'`},
		{`held = false`, `held = true`},
		{`drained_at = now()`, `drained_at = NULL`},
		{`plan_hash = '\x` + Hash{9}.String() + `'`, `plan_hash = '\x` + was.PlanHash.String() + `'`},
	} {
		c.every(t, `UPDATE migration_checkpoints SET `+change.to+` WHERE collection = 'orders'`)
		if err := c.api2.carryOver(t.Context(), &e, &was); err == nil {
			t.Errorf("behind %s it was carried over", change.to)
		}
		c.every(t, `UPDATE migration_checkpoints SET `+change.back+` WHERE collection = 'orders'`)
	}
	c.every(t, `UPDATE collections SET record_format = 1 WHERE collection = 'orders'`)
	if err := c.api2.carryOver(t.Context(), &e, &was); err == nil {
		t.Error("of another format it was carried over")
	}
	c.every(t, `UPDATE collections SET record_format = 2 WHERE collection = 'orders'`)
	for range 2 { // again changes nothing
		if err := c.api2.carryOver(t.Context(), &e, &was); err != nil {
			t.Fatal(err)
		}
	}
	if at := c.at(t)["orders"]; at.PlanHash != e.NextHash || at.Frontier != was.Frontier || record.NumberOf("orders") != at.number {
		t.Errorf("the checkpoint is %+v", at)
	}
}
