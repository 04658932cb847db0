package lease

import (
	"testing"

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
	lease := a.take(t, world)
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
