package lease

import (
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

// L6: the renewal is under way, and the release comes first.
func TestARelease_LeavesNoRenewalBehindIt(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a, r := c.as("a"), c.remote(t).as("a")
	world := c.world(t, "arena")
	lease := a.hold(t, world)
	renewal := r.network.HoldBefore(t, lockHeads)
	answer := make(chan error)
	go func() {
		_, err := r.Renew(t.Context(), r.scope, world, lease)
		answer <- err
	}()
	<-renewal.Met()
	if _, err := a.HandOff(t.Context(), a.scope, world, lease, ToCoordinator); err != nil {
		t.Error(err)
	}
	renewal.Release()
	expectFenced(t, <-answer, 3, journal.Coordinator)
	c.expectStory(t, world, "1 made by client", "2 handed to a by a", "2 activated by a", "3 handed to coordinator by a")
}

// L7.
func TestARepeatedRelease_LeavesTheNextLeaseAlone(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a, r := c.as("a"), c.remote(t).as("a")
	world := c.world(t, "arena")
	old := a.hold(t, world)
	r.network.CutAfter(t, commitHeads)
	_, err := r.HandOff(t.Context(), r.scope, world, old, ToCoordinator)
	expectCode(t, err, domain.KindOutcomeUnknown, "outcome_unknown")

	lease := a.hold(t, world)
	_, err = r.HandOff(t.Context(), r.scope, world, old, ToCoordinator)
	expectFenced(t, err, 4, actorOf(a.scope))
	a.write(t, world, &lease, "", "still the writer")
	c.expectStory(t, world, "1 made by client", "2 handed to a by a", "2 activated by a", "3 handed to coordinator by a",
		"4 handed to a by a", "4 activated by a", "4 a writes still the writer")
}

// L8: appends and the handoff arrive at two processes, in any order.
func TestAppendsInFlightAtAHandoff_AreBeforeItOrFenced(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a, other := c.as("a"), c.process(t).as("a")
	world := c.world(t, "arena")
	var before, fenced int
	for range 5 {
		lease := a.hold(t, world)
		state, _ := c.replay(t, world)
		var receipts [5]Receipt
		var errs [5]error
		var all sync.WaitGroup
		for i := range receipts {
			all.Go(func() { receipts[i], errs[i] = other.tryWrite(t, world, &lease, "", "in flight") })
		}
		done, err := a.HandOff(t.Context(), a.scope, world, lease, ToCoordinator)
		all.Wait()
		if err != nil {
			t.Fatal(err)
		}
		written := 0
		for i, err := range errs {
			switch {
			case err != nil:
				expectFenced(t, err, done.Epoch, journal.Coordinator)
				fenced++
			case receipts[i].Positions[0] > done.Position || receipts[i].Epoch != lease.Epoch:
				t.Errorf("an append behind the handoff at %d was accepted: %+v", done.Position, receipts[i])
			default:
				written++
			}
		}
		before += written
		if last, journal := c.replay(t, world); done.Position != state.Position+int64(written)+1 || !last.Holder.IsCoordinator() {
			t.Errorf("%d appends were acknowledged, and the journal is\n%v", written, kinds(journal))
		}
	}
	t.Logf("%d were before their handoff, %d fenced by it", before, fenced)
}

// The same, with the appends surely behind.
func TestAppendsThatTheHandoffOvertakes_AreFenced(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a, r := c.as("a"), c.remote(t).as("a")
	world := c.world(t, "arena")
	lease := a.hold(t, world)
	appends := r.network.HoldBefore(t, lockHeads)
	answers := make(chan error)
	for range 5 {
		go func() {
			_, err := r.tryWrite(t, world, &lease, "", "late")
			answers <- err
		}()
	}
	<-appends.Met()
	if _, err := a.HandOff(t.Context(), a.scope, world, lease, ToCoordinator); err != nil {
		t.Error(err)
	}
	appends.Release()
	for range 5 {
		expectFenced(t, <-answers, 3, journal.Coordinator)
	}
	c.expectStory(t, world, "1 made by client", "2 handed to a by a", "2 activated by a", "3 handed to coordinator by a",
		"3 refused a with 2, 1 times", "counted of a: 4")
}

// L9: b stands in line, and dies before it learns that it was handed the lease.
func TestAHandoffToADeadNode_IsBackAfterOneTerm(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a, b := c.as("a"), c.as("b")
	world := c.world(t, "arena")
	lease := a.hold(t, world)
	b.stand(t, world, "b's")
	if _, err := a.HandOff(t.Context(), a.scope, world, lease, ToNext); err != nil {
		t.Fatal(err)
	}
	_, err := c.tryWrite(t, world, nil, "", "too early")
	expectFenced(t, err, 3, actorOf(b.scope))
	c.advance(t, DefaultTerm)
	c.write(t, world, nil, "", "hosted again")
	c.expectStory(t, world, "1 made by client", "2 handed to a by a", "2 activated by a", "3 handed to b by a",
		"3 refused client with 0, 1 times", "3 revoked by coordinator: expiry", "4 granted to coordinator",
		"4 client writes hosted again")
}

// L10.
func TestBeforeItsActivation_TheNewHolderCannotWrite(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a := c.as("a")
	world := c.world(t, "arena")
	c.write(t, world, nil, "", "hosted")
	_, before := c.replay(t, world)
	grant := a.acquire(t, world, Acquire{RequestID: "r"})
	lease := Authority{grant.Epoch, grant.Secret}
	_, err := a.tryWrite(t, world, &lease, "", "too early")
	expectCode(t, err, domain.KindConflict, "lease_not_activated")

	_, all := c.replay(t, world)
	handoff := all[grant.HandoffPosition-1]
	for name, replayed := range map[string]journal.Entry{
		"nothing":                     {},
		"the entry before":            before[1],
		"the entry behind":            all[grant.HandoffPosition],
		"the handoff, to a mirror's":  {Position: handoff.Position, Hash: before[1].Hash},
		"its hash, to another number": {Position: handoff.Position - 1, Hash: handoff.Hash},
	} {
		_, err := a.Activate(t.Context(), a.scope, world, lease, replayed.Position, replayed.Hash)
		if domain.CodeOf(err) != "replay_mismatch" {
			t.Errorf("replayed %s: %v", name, err)
		}
	}
	for range 2 { // repeated, it changes nothing
		if _, err := a.Activate(t.Context(), a.scope, world, lease, handoff.Position, handoff.Hash); err != nil {
			t.Error(err)
		}
	}
	a.write(t, world, &lease, "", "replayed")
	c.expectStory(t, world, "1 made by client", "1 client writes hosted", "2 handed to a by a",
		"2 refused a with 2, 1 times", "2 activated by a", "2 a writes replayed")
}

// An operator revokes while a handoff is under way, which then finds nothing to
// hand off.
func TestARevocationDuringAHandoff_ComesFirstOrFindsAnother(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a, r := c.as("a"), c.remote(t).as("a")
	world := c.world(t, "arena")
	lease := a.hold(t, world)
	look, err := c.Lease(t.Context(), c.scope, c.scope.Tenant, world)
	if err != nil {
		t.Fatal(err)
	}
	handoff := r.network.HoldBefore(t, lockHeads)
	answer := make(chan error)
	go func() {
		_, err := r.HandOff(t.Context(), r.scope, world, lease, ToCoordinator)
		answer <- err
	}()
	<-handoff.Met()
	if _, err := c.Revoke(t.Context(), operator(), c.scope.Tenant, world, Revoke{look.Epoch, look.RenewedPosition, "it hangs"}); err != nil {
		t.Error(err)
	}
	handoff.Release()
	expectFenced(t, <-answer, 3, journal.Coordinator)
	_, err = c.Revoke(t.Context(), operator(), c.scope.Tenant, world, Revoke{look.Epoch, look.RenewedPosition, "it hangs"})
	expectCode(t, err, domain.KindConflict, "lease_not_held")
	c.expectStory(t, world, "1 made by client", "2 handed to a by a", "2 activated by a",
		"2 revoked by operator: it hangs", "3 granted to coordinator")
}
