package lease

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

func TestEntries_APageEndsWhereItsPayloadsGrowTooLarge(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	world := c.world(t, "arena")
	for _, size := range []int{MaxPayload, 1, MaxPayload/2 + 1, MaxPayload / 2, 1} { // positions 2 to 6
		c.write(t, world, nil, "", strings.Repeat("x", size))
	}
	var pages [][]int64
	for after := int64(0); ; {
		page, err := c.Entries(t.Context(), c.scope, world, after, 100)
		if err != nil {
			t.Fatal(err)
		}
		var positions []int64
		for _, e := range page.Entries {
			positions = append(positions, e.Position)
			after = e.Position
		}
		pages = append(pages, positions)
		if page.Position != 6 {
			t.Errorf("the journal's end is told as %d", page.Position)
		}
		if !page.More {
			break
		}
	}
	if diff := cmp.Diff([][]int64{{1, 2}, {3, 4, 5}, {6}}, pages); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

func TestEntries_BehindTheEndThereAreNone(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	world := c.world(t, "arena")
	for _, after := range []int64{1, 2, 1 << 50} {
		page, err := c.Entries(t.Context(), c.scope, world, after, 100)
		if err != nil || len(page.Entries) != 0 || page.Position != 1 || page.More {
			t.Errorf("behind %d: %+v, %v", after, page, err)
		}
	}
	_, err := c.Entries(t.Context(), c.scope, "nowhere", 0, 100)
	expectCode(t, err, domain.KindNotFound, "world_not_found")
}

func TestLeaseAt_NamesTheWriterOfEachPosition(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a, b := c.as("a"), c.as("b")
	world := c.world(t, "arena")
	c.write(t, world, nil, "", "hosted")
	first := a.take(t, world)
	a.write(t, world, &first, "", "a's")
	if _, err := a.HandOff(t.Context(), a.scope, world, first, ToCoordinator); err != nil {
		t.Fatal(err)
	}
	second := b.take(t, world)
	b.write(t, world, &second, "", "b's")
	c.advance(t, MaxTerm)
	if _, err := c.Lease(t.Context(), c.scope, c.scope.Tenant, world); err != nil { // journals its end
		t.Fatal(err)
	}

	end, all := c.replay(t, world)
	state := journal.Begin(c.scope.Tenant, world)
	for _, e := range all {
		if err := state.Apply(e); err != nil {
			t.Fatal(err)
		}
		proof, err := c.LeaseAt(t.Context(), c.scope, c.scope.Tenant, world, e.Position)
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == journal.KindLeaseRevoked { // its lease was in force until then
			state.Holder = proof.Holder
		}
		if proof.Holder != state.Holder || proof.Epoch != state.Epoch || proof.Entry.Position > e.Position || proof.Entry.Epoch != state.Epoch {
			t.Errorf("at %d: %+v, want %v at epoch %d", e.Position, proof, state.Holder, state.Epoch)
		}
		if e.Kind == journal.KindLeaseRevoked {
			state.Holder = journal.Actor{}
		}
	}
	for _, beyond := range []int64{0, -1, end.Position + 1} {
		_, err := c.LeaseAt(t.Context(), c.scope, c.scope.Tenant, world, beyond)
		expectCode(t, err, domain.KindNotFound, "position_not_found")
	}
}

func TestWorlds_EachIsListedOnceWhateverIsMadeMeanwhile(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	stays := map[string]int{}
	for i := range 25 {
		stays[c.world(t, fmt.Sprint("stays-", i))] = 0
	}
	if err := c.RetireWorld(t.Context(), c.scope, c.world(t, "retired")); err != nil {
		t.Fatal(err)
	}
	after := ""
	for pages := 0; ; pages++ {
		page, err := c.Worlds(t.Context(), c.scope, after, 4)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Worlds) > 4 {
			t.Errorf("a page has %d worlds", len(page.Worlds))
		}
		for _, w := range page.Worlds {
			if w.ID == "retired" {
				t.Error("a retired world is listed")
			}
			if _, there := stays[w.ID]; there {
				stays[w.ID]++
			}
			after = w.ID
		}
		if !page.More {
			break
		}
		c.world(t, fmt.Sprint("made-", pages))
	}
	for id, times := range stays {
		if times != 1 {
			t.Errorf("%s was listed %d times", id, times)
		}
	}
}
