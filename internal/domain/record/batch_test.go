package record

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// take claims items for a batch for a minute, and gives their generations.
func (k *keeper) take(t testing.TB, c, batch string, keys ...string) map[string]int64 {
	t.Helper()
	b, err := k.Claim(t.Context(), k.scope, c, nil, ClaimBatch{ID: batch, Owner: "worker", Items: keys, Term: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]int64{}
	for _, item := range b.Items {
		if item.State == ItemLeased {
			has[item.Key] = item.Generation
		}
	}
	return has
}

func claimed(key, batch string, generation int64) Publication {
	p := items(key, "by "+batch)
	p.OperationID, p.Claim = fmt.Sprint(batch, " does ", key, " as ", generation), &Claim{batch, generation}
	return p
}

// outcomes completes a batch, and tells each item's outcome.
func (k *keeper) outcomes(t testing.TB, c, batch, operation string, all ...Publication) map[string]ItemState {
	t.Helper()
	done, err := k.Complete(t.Context(), k.scope, c, nil, batch, CompleteBatch{OperationID: operation, Items: all})
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]ItemState{}
	for _, item := range done.Items {
		outcomes[item.Key] = item.Outcome
		if (item.Receipt != nil) != (item.Outcome == ItemPublished || item.Outcome == ItemSuperseded) {
			t.Errorf("%s is %s, with the receipt %+v", item.Key, item.Outcome, item.Receipt)
		}
	}
	return outcomes
}

// A claim whose time is over publishes nothing, alone or in a completion, though
// nobody else has the item. The batch may be claimed again, under a generation that
// is higher; the one of before stays lost.
func TestBatch_AClaimThatIsOver_PublishesNothing(t *testing.T) {
	t.Parallel()
	for _, format := range []int16{FormatSQL, FormatStore} {
		k := newClocked(t, format)
		c := k.collection(t, "orders")
		first := k.take(t, c, "b", "x", "y")
		k.advance(t, time.Minute)
		k.expectUnchanged(t, c, func() {
			_, err := k.Publish(t.Context(), k.scope, c, nil, claimed("x", "b", first["x"]))
			expectCode(t, err, domain.KindConflict, "claim_lost")
			got := k.outcomes(t, c, "b", "all", claimed("x", "b", first["x"]), claimed("y", "b", first["y"]))
			if diff := cmp.Diff(map[string]ItemState{"x": ItemLeaseExpired, "y": ItemLeaseExpired}, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			beaten, err := k.Heartbeat(t.Context(), k.scope, c, nil, "b", []ClaimedItem{{"x", first["x"]}}, 0)
			if err != nil || beaten[0].State != ItemLeaseExpired {
				t.Errorf("beaten as %+v, %v", beaten, err)
			}
		})
		second := k.take(t, c, "b", "x", "y")
		if second["x"] <= first["x"] || second["y"] <= first["y"] {
			t.Errorf("claimed again under %v, and before under %v", second, first)
		}
		k.expectUnchanged(t, c, func() {
			_, err := k.Publish(t.Context(), k.scope, c, nil, claimed("x", "b", first["x"]))
			expectCode(t, err, domain.KindConflict, "claim_lost")
		})
		// Each item has its own outcome: y's claim is named by the generation of before.
		got := k.outcomes(t, c, "b", "all", claimed("x", "b", second["x"]), claimed("y", "b", first["y"]))
		if diff := cmp.Diff(map[string]ItemState{"x": ItemPublished, "y": ItemLeaseExpired}, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		k.expectRecords(t, c, "x")
		k.expectSound(t, c)
	}
}

// expectRecords names all records that there are.
func (k *keeper) expectRecords(t *testing.T, c string, want ...string) {
	t.Helper()
	page, err := k.Records(t.Context(), k.scope, c, Filter{}, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range page.Records {
		got = append(got, r.Key)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("records (-want +got)\n%s", diff)
	}
}

// An item that another batch has taken since is lost, though the first batch's time
// would not be over: its own claim isn't the item's last one.
func TestBatch_AnItemIsOneBatchesAtATime(t *testing.T) {
	t.Parallel()
	k := newClocked(t, FormatSQL)
	c := k.collection(t, "orders")
	a := k.take(t, c, "a", "x", "y")
	if b := k.take(t, c, "b", "x", "z"); len(b) != 1 || b["z"] <= a["y"] {
		t.Errorf("beside a, b has %v", b)
	}
	k.advance(t, 59*time.Second)
	beaten, err := k.Heartbeat(t.Context(), k.scope, c, nil, "a", []ClaimedItem{{"y", a["y"]}}, 0)
	if err != nil || beaten[0].State != ItemLeased {
		t.Fatalf("%+v, %v", beaten, err)
	}
	k.advance(t, time.Second) // y alone has more than that
	b := k.take(t, c, "b", "x", "y")
	if len(b) != 1 || b["x"] <= a["y"] {
		t.Fatalf("b has %v", b)
	}
	k.expectUnchanged(t, c, func() {
		_, err := k.Publish(t.Context(), k.scope, c, nil, claimed("x", "a", a["x"]))
		expectCode(t, err, domain.KindConflict, "claim_lost")
		_, err = k.Publish(t.Context(), k.scope, c, nil, claimed("x", "a", b["x"])) // b's generation under another's name
		expectCode(t, err, domain.KindConflict, "claim_lost")
		_, err = k.Publish(t.Context(), k.scope, c, nil, claimed("y", "b", a["y"]))
		expectCode(t, err, domain.KindConflict, "claim_lost")
	})
	shown, err := k.Batch(t.Context(), k.scope, c, "a")
	if err != nil || shown.Items[0].State != ItemLeaseExpired || shown.Items[1].State != ItemLeased {
		t.Errorf("a has %+v, %v", shown.Items, err)
	}
	got := k.outcomes(t, c, "a", "all", claimed("x", "a", a["x"]), claimed("y", "a", a["y"]))
	if diff := cmp.Diff(map[string]ItemState{"x": ItemLeaseExpired, "y": ItemPublished}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	k.publish(t, c, claimed("x", "b", b["x"]))
	k.expectRecords(t, c, "x", "y")
	k.expectSound(t, c)
}

// A heartbeat never shortens, and claiming again keeps what the batch has.
func TestBatch_BeatsNeverShorten(t *testing.T) {
	t.Parallel()
	k := newClocked(t, FormatSQL)
	c := k.collection(t, "orders")
	has := k.take(t, c, "b", "x")
	ends := func() time.Time {
		shown, err := k.Batch(t.Context(), k.scope, c, "b")
		if err != nil {
			t.Fatal(err)
		}
		return shown.Items[0].ExpiresAt
	}
	first := ends()
	if _, err := k.Heartbeat(t.Context(), k.scope, c, nil, "b", []ClaimedItem{{"x", has["x"]}}, MinBatchTerm); err != nil || ends() != first {
		t.Errorf("a short beat has it end at %v, not %v; %v", ends(), first, err)
	}
	if again := k.take(t, c, "b", "x"); !cmp.Equal(has, again) || ends() != first {
		t.Errorf("claimed again under %v, until %v", again, ends())
	}
	k.advance(t, -time.Hour) // the clock steps back: so does nothing else
	if _, err := k.Heartbeat(t.Context(), k.scope, c, nil, "b", []ClaimedItem{{"x", has["x"]}}, 0); err != nil || ends() != first {
		t.Errorf("a beat behind a step has it end at %v, not %v; %v", ends(), first, err)
	}
	k.advance(t, time.Hour+30*time.Second)
	if _, err := k.Heartbeat(t.Context(), k.scope, c, nil, "b", []ClaimedItem{{"x", has["x"]}}, 0); err != nil || ends().Sub(first) < 29*time.Second {
		t.Errorf("a beat has it end at %v, and before at %v; %v", ends(), first, err)
	}
}

// What was published under the claim beforehand is published in the completion too,
// also when the claim is over by then. A superseded item says so, one that is
// refused says why, and those that aren't named are free again.
func TestBatch_CompletesEachItemForItself(t *testing.T) {
	t.Parallel()
	for _, format := range []int16{FormatSQL, FormatStore} {
		k := newClocked(t, format)
		c := k.collection(t, "orders")
		has := k.take(t, c, "b", "before", "free", "missing", "stale", "twice")
		before := claimed("before", "b", has["before"])
		k.publish(t, c, before)
		k.publish(t, c, Publication{Key: "twice", Bodies: map[string][]byte{"items": []byte("newer")}, Expect: Expectation{Fence: &Fence{"f", 2}}})
		twice := claimed("twice", "b", has["twice"])
		twice.Expect = Expectation{Fence: &Fence{"f", 1}}
		stale := claimed("stale", "b", has["stale"])
		stale.Expect = Expectation{Revision: 7}
		missing := claimed("missing", "b", has["missing"])
		missing.Bodies = map[string][]byte{"plans": []byte("alone")}

		got := k.outcomes(t, c, "b", "all", before, twice, stale, missing)
		want := map[string]ItemState{"before": ItemPublished, "twice": ItemSuperseded, "stale": ItemConflict, "missing": ItemConflict}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		want["free"] = ItemReleased
		shown, err := k.Batch(t.Context(), k.scope, c, "b")
		if err != nil || !shown.Completed {
			t.Fatalf("%+v, %v", shown, err)
		}
		states := map[string]ItemState{}
		for _, item := range shown.Items {
			states[item.Key] = item.State
		}
		if diff := cmp.Diff(want, states); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if other := k.take(t, c, "other", "before", "free", "missing", "stale", "twice"); len(other) != 5 {
			t.Errorf("another batch has %v", other)
		}
		_, err = k.Claim(t.Context(), k.scope, c, nil, ClaimBatch{ID: "b", Owner: "worker", Items: []string{"more"}})
		expectCode(t, err, domain.KindConflict, "batch_completed")
		k.advance(t, time.Hour)
		if again := k.outcomes(t, c, "b", "all", before, twice, stale, missing); again["before"] != ItemPublished {
			t.Errorf("asked again: %v", again)
		}
		k.expectRecords(t, c, "before", "twice")
		k.expectSound(t, c)
	}
}

// A batch is its owner's and its principal's. Others may read it.
func TestBatch_IsItsOwners(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	c := k.collection(t, "orders")
	generation := k.take(t, c, "b", "x")["x"]
	other := k.as("other")
	k.expectUnchanged(t, c, func() {
		_, err := k.Claim(t.Context(), k.scope, c, nil, ClaimBatch{ID: "b", Owner: "another", Items: []string{"y"}})
		expectCode(t, err, domain.KindConflict, "batch_exists")
		_, err = other.Claim(t.Context(), other.scope, c, nil, ClaimBatch{ID: "b", Owner: "worker", Items: []string{"y"}})
		expectCode(t, err, domain.KindConflict, "batch_exists")
		_, err = other.Heartbeat(t.Context(), other.scope, c, nil, "b", []ClaimedItem{{"x", generation}}, 0)
		expectCode(t, err, domain.KindConflict, "batch_exists")
		_, err = other.Publish(t.Context(), other.scope, c, nil, claimed("x", "b", generation))
		expectCode(t, err, domain.KindConflict, "batch_exists")
		_, err = other.Complete(t.Context(), other.scope, c, nil, "b", CompleteBatch{OperationID: "all", Items: []Publication{claimed("x", "b", generation)}})
		expectCode(t, err, domain.KindConflict, "batch_exists")
	})
	if shown, err := other.Batch(t.Context(), other.scope, c, "b"); err != nil || shown.Items[0].State != ItemLeased {
		t.Errorf("%+v, %v", shown, err)
	}
}

// A claim that stood when the publication was looked at, and is over or another's
// when it comes to its locks, publishes nothing.
func TestBatch_AClaimThatEndsBetweenTheLookAndTheCommit_PublishesNothing(t *testing.T) {
	t.Parallel()
	k := newClocked(t, FormatSQL)
	for i, ends := range []func(c string){
		func(string) { k.advance(t, time.Minute) },
		func(c string) { k.advance(t, time.Minute); k.take(t, c, "other", "x") },
		func(c string) { k.advance(t, time.Minute); k.take(t, c, "b", "x") },
	} {
		c := k.collection(t, fmt.Sprint("ends-", i))
		p := claimed("x", "b", k.take(t, c, "b", "x")["x"])
		slow := k.networked(t)
		trap := slow.network.HoldBefore(t, lockCollections)
		answer := make(chan error)
		go func() {
			_, err := slow.Publish(t.Context(), k.scope, c, nil, p)
			answer <- err
		}()
		<-trap.Met()
		ends(c)
		trap.Release()
		expectCode(t, <-answer, domain.KindConflict, "claim_lost")
		k.expectRecords(t, c)
	}
}
