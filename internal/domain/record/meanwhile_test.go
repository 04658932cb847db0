package record

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// A look takes no locks, and each of its statements sees what was committed before
// it: what it refuses must be so even when others commit between two of them.

// awaitHeld waits until the backend of a connection that is held has run all that
// went ahead, and reads on for more.
func (k *keeper) awaitHeld(t *testing.T, collection string) {
	t.Helper()
	for held := false; !held; {
		err := k.adminOf(collection).QueryRow(t.Context(), `
SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND usename = 'holdfast_api'
                  AND xact_start IS NOT NULL AND state = 'active' AND wait_event = 'ClientRead')`).Scan(&held)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The collection is made, and written to, behind the statement that didn't find it.
func TestALook_WhileTheCollectionIsMade_FindsNone(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	for name, look := range map[string]func(k *keeper, c string) error{
		"read": func(k *keeper, c string) error {
			_, err := k.Record(t.Context(), k.scope, c, "a")
			return err
		},
		"publish": func(k *keeper, c string) error {
			_, err := k.Publish(t.Context(), k.scope, c, nil, k.onto("a"))
			return err
		},
	} {
		slow := k.networked(t)
		trap := slow.network.HoldBefore(t, testkit.Statement("(SELECT r.* FROM records r"))
		answer := make(chan error)
		go func() { answer <- look(slow.keeper, name) }()
		<-trap.Met()
		k.awaitHeld(t, name)
		k.publish(t, k.collection(t, name), items("a", "made meanwhile"))
		trap.Release()
		expectCode(t, <-answer, domain.KindNotFound, "collection_not_found")
		if err := look(slow.keeper, name); err != nil {
			t.Errorf("%s, once it is there: %v", name, err)
		}
	}
}

// The first attempt commits while its retry looks, at any of its statements: the
// retry gets the receipt, and is never told of a conflict with itself.
func TestALook_WhileItsFirstAttemptCommits_FindsTheReceipt(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	for _, at := range []string{"FROM collections c\n", "FROM records r\n", "FROM item_claims i\n", "FROM fences f\n", "FROM batches b\n", "FROM receipts r\n"} {
		c := k.collection(t, k.operation())
		k.publish(t, c, items("x", "stands"))
		p := claimed("x", "batch", k.claimItems(t, c, "batch", "x")["x"])
		p.Expect = Expectation{Fence: &Fence{"f", 1}}
		complete := func(k *keeper) (Completion, error) {
			return k.Complete(t.Context(), k.scope, c, nil, "batch", CompleteBatch{OperationID: "all", Items: []Publication{p}})
		}
		slow := k.networked(t)
		trap := slow.network.HoldBefore(t, testkit.Statement(at))
		type made struct {
			Completion
			err error
		}
		answer := make(chan made)
		go func() {
			done, err := complete(slow.keeper)
			answer <- made{done, err}
		}()
		<-trap.Met()
		k.awaitHeld(t, c)
		if done, err := complete(k); err != nil || done.Replayed {
			t.Fatalf("%+v, %v", done, err)
		}
		trap.Release()
		if m := <-answer; m.err != nil || !m.Replayed || m.Items[0].Outcome != ItemPublished {
			t.Errorf("held before %q, the retry got %+v, %v", at, m.Completion, m.err)
		}
	}
}
