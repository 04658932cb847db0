package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// try lets what waits be due, and makes a step of it.
func (k *keeper) try(t *testing.T, w *Service, collection string, id domain.SnapshotID) Snapshot {
	t.Helper()
	k.ripen(t)
	k.step(t, w)
	sn, err := k.Snapshot(t.Context(), k.scope, collection, id)
	if err != nil {
		t.Fatal(err)
	}
	return sn
}

// A body that can't be had is tried for again, and if it comes back all is well.
// If not, the snapshot says whose it is, and is nobody's way.
func TestSnapshot_ABodyThatCannotBeHadFailsItInTheEnd(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		c, l, w := k.collection(t, "orders"), &ledger{}, k.upkeep(t, Options{})
		k.fill(t, l, c, 7, 1<<20) // the last two are in the second part
		lost := k.body(t, c, "item/00006", "items")
		kept := k.snapshot(t, w, c)

		lose, find := k.loss(t, c, "item/00006", lost)
		lose()
		asked := k.request(t, c)
		for n := range maxSnapshotAttempts {
			if sn := k.try(t, w, c, asked.ID); sn.State != SnapshotRunning || sn.Parts != 1 {
				t.Fatalf("after %d steps it is %+v", n, sn)
			}
			if n > 0 && len(k.due(t, w)) != 0 {
				t.Error("it is tried again at once")
			}
		}
		find()
		if sn := k.try(t, w, c, asked.ID); sn.Parts != 2 {
			t.Fatalf("when the body is back: %+v", sn)
		}
		k.expectAt(t, l, c, k.complete(t, w, c, asked))

		lose()
		asked = k.request(t, c)
		for range 1 + maxSnapshotAttempts {
			k.try(t, w, c, asked.ID)
		}
		want := Snapshot{
			ID: asked.ID, Collection: c, State: SnapshotFailed, RequestedAt: asked.RequestedAt,
			Failure: &SnapshotFailure{Code: "body_unavailable", Key: "item/00006", Section: "items"},
		}
		sn := k.try(t, w, c, asked.ID)
		if want.EndedAt = sn.EndedAt; sn.EndedAt.IsZero() {
			t.Error("it has no end")
		}
		if diff := cmp.Diff(want, sn); diff != "" {
			t.Errorf("the failed one (-want +got):\n%s", diff)
		}
		if left := k.partsIn(t, c, asked.ID); len(left) != 0 {
			t.Errorf("left of the failed one: %v", left)
		}
		k.expectAt(t, l, c, kept)
		_, err := k.PresignSnapshot(t.Context(), k.scope, c, asked.ID, 0, 0)
		expectCode(t, err, domain.KindConflict, "snapshot_incomplete")

		find()
		k.expectAt(t, l, c, k.snapshot(t, w, c))
		k.ripen(t)
		for k.step(t, w) > 0 {
		}
		_, err = k.Snapshot(t.Context(), k.scope, c, asked.ID)
		expectCode(t, err, domain.KindNotFound, "snapshot_not_found") // another has ended behind it
	})
}

// loss gives what takes a body away, and what brings it back.
func (k *keeper) loss(t *testing.T, c, key, body string) (lose, find func()) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	if k.format == FormatSQL {
		change := func(content string) {
			k.everywhere(t, `UPDATE section_chunks SET content = $3 WHERE tenant_id = $1 AND item_key = $2 AND ordinal = 1`, k.scope.Tenant, key, []byte(content))
		}
		return func() { change(body[chunkSize:2*chunkSize-1] + "?") }, func() { change(body[chunkSize : 2*chunkSize]) }
	}
	bucket, object := k.bucket(t), k.object(t, c, body)
	return func() { must(bucket.Delete(t.Context(), object)) }, func() {
		_, err := bucket.Ensure(t.Context(), object, []byte(body), DigestOf([]byte(body)), false)
		must(err)
	}
}

// A part that can't be stored fails the snapshot too, and the reason is no record's.
func TestSnapshot_APartThatCannotBeStoredFailsItInTheEnd(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	c, l := k.collection(t, "orders"), &ledger{}
	k.fill(t, l, c, 2, 100)
	asked := k.request(t, c)
	refused := *k
	refused.faults = testkit.NewStoreFaults(t)
	for range maxSnapshotAttempts {
		refused.faults.When("a part", isPart("PUT"), testkit.Refuse(403, "AccessDenied", 0))
	}
	w := refused.upkeep(t, Options{})
	for range maxSnapshotAttempts {
		k.try(t, w, c, asked.ID)
	}
	sn := k.try(t, k.upkeep(t, Options{}), c, asked.ID)
	if diff := cmp.Diff(&SnapshotFailure{Code: "object_store_unavailable"}, sn.Failure); sn.State != SnapshotFailed || diff != "" {
		t.Errorf("it is %s (-want +got):\n%s", sn.State, diff)
	}
}
