package lease

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

// L14.
func TestARetiredWorldsID_IsNeverUsedAgain(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a := c.as("a")
	world := c.world(t, "arena")
	lease := a.hold(t, world)
	expectCode(t, c.RetireWorld(t.Context(), c.scope, world), domain.KindConflict, "lease_held")
	if _, err := a.HandOff(t.Context(), a.scope, world, lease, ToCoordinator); err != nil {
		t.Fatal(err)
	}
	c.expectStory(t, world, "1 made by client", "2 handed to a by a", "2 activated by a", "3 handed to coordinator by a")
	if err := c.RetireWorld(t.Context(), c.scope, world); err != nil {
		t.Fatal(err)
	}
	_, err := c.CreateWorld(t.Context(), c.scope, world, Policy{})
	expectCode(t, err, domain.KindConflict, "world_retired")

	for name, try := range withAuthority {
		if name == "Activate" {
			continue // reads the journal, which nobody can, to know what to send
		}
		for _, presented := range []Authority{lease, {3, ""}, {4, lease.Secret}} {
			if err := try(t, a, world, presented); domain.CodeOf(err) != "world_not_found" {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	_, err = a.Activate(t.Context(), a.scope, world, lease, 2, journal.Hash{})
	expectCode(t, err, domain.KindNotFound, "world_not_found")
	_, err = c.tryWrite(t, world, nil, "", "hosted")
	expectCode(t, err, domain.KindNotFound, "world_not_found")
	_, err = a.Acquire(t.Context(), a.scope, world, Acquire{RequestID: "r"})
	expectCode(t, err, domain.KindNotFound, "world_not_found")
	expectCode(t, c.RetireWorld(t.Context(), c.scope, world), domain.KindNotFound, "world_not_found")

	page, err := c.Worlds(t.Context(), c.scope, "", 10)
	if err != nil || len(page.Worlds) != 0 {
		t.Errorf("listed: %+v, %v", page, err)
	}
	var kept int64
	admin := c.admin[c.router.Database(domain.NumberOf(world)).Name]
	if err := admin.QueryRow(t.Context(), `SELECT max(position) FROM journal WHERE world_id = $1`, world).Scan(&kept); err != nil || kept != 5 {
		t.Errorf("the journal ends at %d, %v", kept, err)
	}
}

// Decisions behind a retirement in its own transaction find no world.
func TestBehindItsRetirement_AWorldTakesNothing(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	world := c.world(t, "arena")
	ref, err := refOf(world)
	if err != nil {
		t.Fatal(err)
	}
	retire := &decision{world: ref, decide: func(w *locked) error {
		w.note(journal.KindWorldRetired, w.Epoch, actorOf(c.scope), journal.Retired{})
		return nil
	}}
	write := &decision{world: ref, decide: func(w *locked) error {
		w.append(actorOf(c.scope), &Append{Entries: []AppendEntry{{Payload: []byte("late")}}})
		return nil
	}}
	if err := c.decideBeside(t.Context(), c.router.Database(ref.number), c.scope.Tenant, []*decision{retire, write}); err != nil {
		t.Fatal(err)
	}
	if retire.outcome() != nil || write.outcome() != errNoWorld {
		t.Errorf("retired: %v, written behind it: %v", retire.outcome(), write.outcome())
	}
}

// A retirement tells of every refusal that was counted, and leaves nothing to do.
func TestARetirement_LeavesNothingBeside(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a := c.as("a")
	world := c.world(t, "arena")
	for range 3 {
		_, err := a.tryWrite(t, world, &Authority{7, "none"}, "", "late")
		expectFenced(t, err, 1, journal.Coordinator)
	}
	if err := c.RetireWorld(t.Context(), c.scope, world); err != nil {
		t.Fatal(err)
	}
	if left := c.beside(t, world); len(left) > 0 {
		t.Errorf("left beside the head: %v", left)
	}
	admin := c.admin[c.router.Database(domain.NumberOf(world)).Name]
	var told int64
	err := admin.QueryRow(t.Context(), `SELECT sum((details::jsonb->>'count')::bigint) FROM journal WHERE world_id = $1 AND kind = $2`,
		world, journal.KindAppendRejected).Scan(&told)
	if err != nil || told != 3 {
		t.Errorf("the journal tells of %d refusals, %v", told, err)
	}
}
