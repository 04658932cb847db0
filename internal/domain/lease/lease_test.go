package lease

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

func TestALeasesLife(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	a, b := c.as("a"), c.as("b")
	world := c.world(t, "arena")

	c.write(t, world, nil, "", "hosted")
	lease := a.hold(t, world)
	a.write(t, world, &lease, "one", "first")
	if _, err := a.Renew(t.Context(), a.scope, world, lease); err != nil {
		t.Error(err)
	}
	_, err := b.Acquire(t.Context(), b.scope, world, Acquire{RequestID: "b"})
	expectCode(t, err, domain.KindConflict, "lease_held")
	_, err = c.tryWrite(t, world, nil, "", "hosted, too late")
	expectCode(t, err, domain.KindConflict, "fenced")

	again := a.write(t, world, &lease, "one", "first")
	if !again.Replayed || again.Positions[0] != 5 {
		t.Errorf("the receipt of the repeated append is %+v", again)
	}
	if _, err := a.HandOff(t.Context(), a.scope, world, lease, ToCoordinator); err != nil {
		t.Error(err)
	}
	_, err = a.tryWrite(t, world, &lease, "", "too late")
	expectCode(t, err, domain.KindConflict, "fenced")
	c.write(t, world, nil, "", "hosted again")

	_, all := c.replay(t, world)
	want := []journal.Kind{
		journal.KindWorldCreated, journal.KindEntry, journal.KindLeaseHandedOff, journal.KindLeaseActivated,
		journal.KindEntry, journal.KindLeaseRenewed, journal.KindAppendRejected, journal.KindLeaseHandedOff,
		journal.KindAppendRejected, journal.KindEntry,
	}
	if diff := cmp.Diff(want, kinds(all)); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
}

func TestAWorldsID_HasItsForm(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	for _, id := range []string{"a", "7", "north-7", "a.b_c-d", strings.Repeat("a", 128)} {
		if world, err := c.CreateWorld(t.Context(), c.scope, id, Policy{}); err != nil || world.ID != id {
			t.Errorf("%s: %+v, %v", id, world, err)
		}
	}
	for _, id := range []string{"", "-a", ".a", "_a", "A", "a b", "a:b", "a/b", "é", "a\n", strings.Repeat("a", 129)} {
		_, err := c.CreateWorld(t.Context(), c.scope, id, Policy{})
		expectCode(t, err, domain.KindInvalid, "world_id_invalid")
		var refused *domain.Error
		if !errors.As(err, &refused) || len(refused.Fields) != 1 || refused.Fields[0].Pointer != "/world_id" {
			t.Errorf("%q is refused at %+v", id, refused)
		}
	}
}

// Until it is activated a long lease ends with the time to activate it; from then on
// it has its whole term.
func TestActivation_MakesATermWhole(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a := c.as("a")
	world := c.world(t, "arena")
	grant := a.acquire(t, world, Acquire{RequestID: "r", Term: 10 * time.Minute})
	if grant.Remaining != DefaultReplay {
		t.Errorf("before the activation %v remain, want %v", grant.Remaining, DefaultReplay)
	}
	a.activate(t, grant)
	c.advance(t, DefaultReplay)
	state, err := c.Lease(t.Context(), c.scope, c.scope.Tenant, world)
	if err != nil || state.Holder != actorOf(a.scope) || state.Remaining < 8*time.Minute {
		t.Errorf("then %v has it for %v more, %v", state.Holder, state.Remaining, err)
	}
	c.expectStory(t, world, "1 made by client", "2 handed to a by a", "2 activated by a", "2 renewed by a")
}
