package lease

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

// Who held the lease at each position is what the journal's own lease entries say,
// and the proof is the one that says it.
func TestLeaseAt_ProvesTheWriterOfEachPosition(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a, b := c.as("a"), c.as("b")
	world := c.world(t, "arena")
	c.write(t, world, nil, "", "hosted")
	lease := a.hold(t, world)
	a.write(t, world, &lease, "", "a's")
	b.stand(t, world, "b's")
	if _, err := a.HandOff(t.Context(), a.scope, world, lease, ToNext); err != nil {
		t.Fatal(err)
	}
	b.activate(t, b.acquire(t, world, Acquire{RequestID: "b's"}))
	c.advance(t, DefaultTerm)
	c.write(t, world, nil, "", "hosted again")

	_, all := c.replay(t, world)
	var made journal.Entry
	holder := journal.Coordinator
	for i := range all {
		e := &all[i]
		switch e.Kind {
		case journal.KindLeaseHandedOff:
			made, holder = *e, detailsOf[journal.HandedOff](t, e).To
		case journal.KindWorldCreated, journal.KindLeaseGranted:
			made, holder = *e, journal.Coordinator
		}
		proof, err := c.LeaseAt(t.Context(), c.scope, c.scope.Tenant, world, e.Position)
		if err != nil || proof.Holder != holder || proof.Epoch != e.Epoch || proof.Position != e.Position || proof.Entry.Hash != made.Hash {
			t.Errorf("at %d: %+v, %v, want %v by entry %d", e.Position, proof, err, holder, made.Position)
		}
		if e.Kind == journal.KindEntry && holder != journal.Coordinator && e.Actor != proof.Holder {
			t.Errorf("at %d wrote %v", e.Position, e.Actor)
		}
	}
	for _, position := range []int64{-1, 0, int64(len(all)) + 1} {
		_, err := c.LeaseAt(t.Context(), c.scope, c.scope.Tenant, world, position)
		expectCode(t, err, domain.KindNotFound, "position_not_found")
	}
}
