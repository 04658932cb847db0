package record

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// The moment when a decision takes its locks, beginning with the world's head.
var lockHeads = testkit.Statement("FOR NO KEY UPDATE) w")

// L28: a change was found to be right, and on its way to its locks the lease is
// handed off, or ends. It is refused in the transaction that was to commit it.
func TestALeaseThatGoesBetweenTheLookAndTheCommit_Fences(t *testing.T) {
	t.Parallel()
	for _, format := range []int16{FormatSQL, FormatStore} {
		k := newClocked(t, format)
		a, b := k.as("a"), k.as("b")
		for how, goes := range map[string]struct {
			away func(t *testing.T, world string, held *lease.Authority)
			code string
		}{
			"handed off": {func(t *testing.T, world string, held *lease.Authority) { a.handOff(t, world, held) }, "fenced"},
			"handed on":  {func(t *testing.T, world string, held *lease.Authority) { a.handOff(t, world, held); b.hold(t, world) }, "fenced"},
			"over":       {func(t *testing.T, _ string, _ *lease.Authority) { k.advance(t, lease.DefaultTerm) }, "lease_expired"},
		} {
			for _, name := range []string{"Publish", "Complete"} {
				t.Run(fmt.Sprint(name, " in ", format, ", ", how), func(t *testing.T) {
					world := fmt.Sprint("world-", k.names.Add(1))
					c := k.bound(t, world)
					held := a.hold(t, world)
					if _, err := a.Claim(t.Context(), a.scope, c, held, ClaimBatch{ID: "open", Owner: "w", Items: []string{"b"}, Term: MaxBatchTerm}); err != nil {
						t.Fatal(err)
					}
					slow := a.networked(t)
					trap := slow.network.HoldBefore(t, lockHeads)
					k.expectUnchanged(t, c, func() {
						answer := make(chan error)
						go func() { answer <- changes[name](t, slow.keeper, c, held) }()
						<-trap.Met()
						goes.away(t, world, held)
						trap.Release()
						expectCode(t, <-answer, domain.KindConflict, goes.code)
					})
				})
			}
		}
	}
}

// The other way about: the change has its locks, and the handoff waits for it.
func TestALeaseThatIsHandedOffWhileAChangeHasItsLocks_GoesBehindIt(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	a := k.as("a")
	c := k.bound(t, "arena")
	held := a.hold(t, "arena")
	slow := a.networked(t)
	trap := slow.network.HoldBefore(t, commitMove)
	answer := make(chan error)
	go func() { answer <- changes["Publish"](t, slow.keeper, c, held) }()
	<-trap.Met()
	_, err := k.leases.HandOff(t.Context(), a.scope, "arena", *held, lease.ToCoordinator)
	expectCode(t, err, domain.KindUnavailable, "world_busy")
	trap.Release()
	if err := <-answer; err != nil {
		t.Error(err)
	}
	a.handOff(t, "arena", held)
	if r, err := k.Record(t.Context(), k.scope, c, "a"); err != nil || r.Revision != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A writer that has been fenced since learns what became of its publication, and
// of its completion. It can't make another.
func TestAReceipt_IsGivenAgainToWhoWasFencedSince(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	a := k.as("a")
	c := k.bound(t, "arena")
	held := a.hold(t, "arena")
	p := k.onto("a")
	receipt, err := a.Publish(t.Context(), a.scope, c, held, p)
	if err != nil {
		t.Fatal(err)
	}
	claimed, err := a.Claim(t.Context(), a.scope, c, held, ClaimBatch{ID: "open", Owner: "w", Items: []string{"b"}})
	if err != nil {
		t.Fatal(err)
	}
	item := k.onto("b")
	item.Claim = &Claim{Generation: claimed.Items[0].Generation}
	req := CompleteBatch{OperationID: "all", Items: []Publication{item}}
	done, err := a.Complete(t.Context(), a.scope, c, held, "open", req)
	if err != nil {
		t.Fatal(err)
	}
	a.handOff(t, "arena", held)

	receipt.Replayed, done.Replayed = true, true
	again, err := a.Publish(t.Context(), a.scope, c, held, p)
	if diff := cmp.Diff(receipt, again); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	doneAgain, err := a.Complete(t.Context(), a.scope, c, held, "open", req)
	if diff := cmp.Diff(done, doneAgain); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	k.expectUnchanged(t, c, func() {
		other := k.onto("a")
		other.OperationID = p.OperationID
		_, err := a.Publish(t.Context(), a.scope, c, held, other)
		expectCode(t, err, domain.KindConflict, "operation_id_reused")
		_, err = a.Publish(t.Context(), a.scope, c, held, k.onto("a"))
		expectCode(t, err, domain.KindConflict, "fenced")
	})
}
