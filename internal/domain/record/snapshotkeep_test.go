package record

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

func idsOf(all []Snapshot) (ids []domain.SnapshotID) {
	for _, sn := range all {
		ids = append(ids, sn.ID)
	}
	return ids
}

// The third complete snapshot takes the first from sight at once. Its objects go
// later, when no URL leads to them any more.
func TestSnapshot_TwoCompleteOnesAreKept(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		c, l, w := k.collection(t, "orders"), &ledger{}, k.upkeep(t, Options{})
		k.fill(t, l, c, 3, 100)
		first, err := k.RequestSnapshot(t.Context(), k.scope, c, "first")
		if err != nil {
			t.Fatal(err)
		}
		k.complete(t, w, c, first.Snapshot)
		second := k.snapshot(t, w, c)
		signed, err := k.PresignSnapshot(t.Context(), k.scope, c, first.ID, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		third := k.snapshot(t, w, c)

		all, err := k.Snapshots(t.Context(), k.scope, c)
		if diff := cmp.Diff([]domain.SnapshotID{third.ID, second.ID}, idsOf(all)); diff != "" || err != nil {
			t.Errorf("listed (-want +got), %v:\n%s", err, diff)
		}
		_, err = k.Snapshot(t.Context(), k.scope, c, first.ID)
		expectCode(t, err, domain.KindNotFound, "snapshot_not_found")
		_, err = k.PresignSnapshot(t.Context(), k.scope, c, first.ID, 0, 0)
		expectCode(t, err, domain.KindNotFound, "snapshot_not_found")
		_, err = k.RequestSnapshot(t.Context(), k.scope, c, "first")
		expectCode(t, err, domain.KindGone, "snapshot_removed")
		if text := get(t, signed.Parts[0].URL); DigestOf(text) != signed.Parts[0].Digest {
			t.Error("what a URL leads to has changed before its time is over")
		}

		k.ripen(t)
		for k.step(t, w) > 0 {
		}
		if left := k.partsIn(t, c, first.ID); len(left) != 0 {
			t.Errorf("left of the first: %v", left)
		}
		k.expectAt(t, l, c, second)
		k.expectAt(t, l, c, third)

		again, err := k.RequestSnapshot(t.Context(), k.scope, c, "first")
		if err != nil || again.Replayed || again.ID != first.ID {
			t.Errorf("the key of one that is gone: %+v, %v", again, err)
		}
		k.expectAt(t, l, c, k.complete(t, w, c, again.Snapshot))
	})
}

// What a worker still uploads below a run whose snapshot has gone can't meet the
// next snapshot of the same id.
func TestSnapshot_ARunIsNeverUsedAgain(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	c, l, w := k.collection(t, "orders"), &ledger{}, k.upkeep(t, Options{})
	k.fill(t, l, c, 3, 100)
	var runs [2][]string
	for i := range runs {
		requested, err := k.RequestSnapshot(t.Context(), k.scope, c, "same")
		if err != nil || requested.Replayed {
			t.Fatalf("%+v, %v", requested, err)
		}
		k.complete(t, w, c, requested.Snapshot)
		runs[i] = k.partsIn(t, c, requested.ID)
		k.snapshot(t, w, c)
		k.snapshot(t, w, c)
		k.ripen(t)
		for k.step(t, w) > 0 {
		}
	}
	if len(runs[0]) != 1 || len(runs[1]) != 1 || runs[0][0] == runs[1][0] {
		t.Errorf("the parts of two snapshots of one id are at %v", runs)
	}
}

// A tenant that is suspended has its snapshot wait, and gets no URL.
func TestSnapshot_WaitsForATenantThatIsSuspended(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatStore)
	c, l, w := k.collection(t, "orders"), &ledger{}, k.upkeep(t, Options{})
	k.fill(t, l, c, 3, 100)
	done := k.snapshot(t, w, c)
	asked := k.request(t, c)
	due := k.due(t, w)
	k.gate(t, "suspended")
	if waiting := k.due(t, w); len(waiting) != 0 {
		t.Errorf("due is %+v", waiting)
	}
	for _, d := range due {
		if step, err := w.StepSnapshot(t.Context(), d); err != nil || !step.Done {
			t.Errorf("a step that was begun before: %+v, %v", step, err)
		}
	}
	_, err := k.PresignSnapshot(t.Context(), k.scope, c, done.ID, 0, 0)
	expectCode(t, err, domain.KindForbidden, "tenant_suspended")
	k.gate(t, "open")
	k.expectAt(t, l, c, k.complete(t, w, c, asked))
}

// Of each tenant one is due at a time, so that one with many keeps no other
// waiting.
func TestSnapshot_EachTenantHasItsTurn(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	w := k.upkeep(t, Options{})
	busy := map[string]DueSnapshot{}
	for _, name := range []string{"w:a", "w:b", "w:c"} {
		k.collection(t, name)
		busy[k.request(t, name).ID.String()] = DueSnapshot{}
	}
	other := *k
	other.scope.Tenant = domain.RandomID[domain.TenantKind]()
	other.begin(t, k.format)
	other.collection(t, "w:a")
	theirs := other.request(t, "w:a")
	due := k.due(t, w)
	if len(due) != 2 || !slices.ContainsFunc(due, func(d DueSnapshot) bool { return d.ID == theirs.ID }) {
		t.Errorf("due is %+v", due)
	}
	turns := map[domain.SnapshotID]bool{}
	for range 3 {
		for _, d := range k.due(t, w) {
			turns[d.ID] = true
			if _, err := w.StepSnapshot(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(turns) != 4 {
		t.Errorf("%d snapshots had a turn within three laps, of 4", len(turns))
	}
}
