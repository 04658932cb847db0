package record

import (
	"bytes"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

func TestSnapshot_IsTheCollectionAsItStands(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		c, l, w := k.collection(t, "orders"), &ledger{}, k.upkeep(t, Options{})
		empty := k.snapshot(t, w, c)
		if empty.Sequence != 0 || empty.Parts != 0 {
			t.Errorf("of nothing: %+v", empty)
		}
		k.expectAt(t, l, c, empty)

		k.fill(t, l, c, 20, 100)
		large := bytes.Repeat([]byte("\x00\xff\r\n no text"), 100_000) // in chunks
		l.add(k.publish(t, c, Publication{Key: "\u2028/é \"quoted\"\n", Bodies: map[string][]byte{"items": large, "plans": {}}, Expect: Expectation{Absent: true}}))
		l.add(k.publish(t, c, Publication{Key: "item/00003", Bodies: map[string][]byte{"closed": []byte("done")}, Expect: Expectation{Revision: 1}}))
		l.add(k.publish(t, c, Publication{Key: "item/00004", Tombstones: []string{"items"}, Expect: Expectation{Revision: 1}}))
		sn := k.snapshot(t, w, c)
		if sn.Sequence != 25 || sn.Lines != 23 {
			t.Errorf("made as %+v, want 23 lines up to 25", sn)
		}
		k.expectAt(t, l, c, sn)

		all, err := k.Snapshots(t.Context(), k.scope, c)
		if err != nil || len(all) != 2 || all[0] != sn || all[1] != empty {
			t.Errorf("listed are %+v, %v", all, err)
		}
	})
}

// The sections of a record needn't be in one part.
func TestSnapshot_APartMayEndWithinARecord(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		c, l, w := k.collection(t, "orders"), &ledger{}, k.upkeep(t, Options{})
		for _, key := range []string{"a", "b", "c"} {
			bodies := map[string][]byte{}
			for _, section := range []string{"items", "plans", "decision-packets"} {
				bodies[section] = bytes.Repeat([]byte(key+section), 110_000)
			}
			l.add(k.publish(t, c, Publication{Key: key, Bodies: bodies, Expect: Expectation{Absent: true}}))
		}
		sn := k.snapshot(t, w, c)
		if sn.Lines != 9 || sn.Parts < 2 {
			t.Errorf("made as %+v", sn)
		}
		k.expectAt(t, l, c, sn)
		within := false
		parts := k.parts(t, c, sn)
		for i, part := range parts[1:] {
			before, behind := parseLines(t, get(t, parts[i].URL)), parseLines(t, get(t, part.URL))
			within = within || before[len(before)-1].Key == behind[0].Key
		}
		if !within {
			t.Error("every part ends with a record: the test proves nothing")
		}
	})
}

func TestSnapshot_IsAskedForOnceByItsKey(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	c, w := k.collection(t, "orders"), k.upkeep(t, Options{})
	first, err := k.RequestSnapshot(t.Context(), k.scope, "Orders", "one")
	if err != nil || first.Replayed || first.State != SnapshotRunning || first.Database == "" {
		t.Fatalf("asked for as %+v, %v", first, err)
	}
	again, err := k.RequestSnapshot(t.Context(), k.scope, c, "one")
	if err != nil || !again.Replayed || again.ID != first.ID {
		t.Errorf("asked for again as %+v, %v", again, err)
	}
	_, err = k.RequestSnapshot(t.Context(), k.scope, c, "two")
	expectCode(t, err, domain.KindConflict, "snapshot_running")
	if e := err.(*domain.Error); e.Members["snapshot_id"] != first.ID.String() {
		t.Errorf("running is %v, want %s", e.Members, first.ID)
	}
	_, err = k.PresignSnapshot(t.Context(), k.scope, c, first.ID, 0, 0)
	expectCode(t, err, domain.KindConflict, "snapshot_incomplete")
	done := k.complete(t, w, c, first.Snapshot)
	again, err = k.RequestSnapshot(t.Context(), k.scope, c, "one")
	if err != nil || !again.Replayed || again.Snapshot != done {
		t.Errorf("asked for when it was done: %+v, %v", again, err)
	}
	other := k.scope
	other.Principal = domain.NewID[domain.PrincipalKind](done.RequestedAt)
	theirs, err := k.RequestSnapshot(t.Context(), other, c, "one")
	if err != nil || theirs.Replayed || theirs.ID == first.ID {
		t.Errorf("another principal's request: %+v, %v", theirs, err)
	}
}

func TestSnapshot_OfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	c := k.collection(t, "orders")
	_, err := k.RequestSnapshot(t.Context(), k.scope, "others", "")
	expectCode(t, err, domain.KindNotFound, "collection_not_found")
	_, err = k.Snapshots(t.Context(), k.scope, "no name!")
	expectCode(t, err, domain.KindNotFound, "collection_not_found")
	random := domain.RandomID[domain.SnapshotKind]()
	_, err = k.Snapshot(t.Context(), k.scope, c, random)
	expectCode(t, err, domain.KindNotFound, "snapshot_not_found")
	_, err = k.PresignSnapshot(t.Context(), k.scope, c, random, 0, 0)
	expectCode(t, err, domain.KindNotFound, "snapshot_not_found")
	without := New(k.router, nil, nil, Options{})
	_, err = without.RequestSnapshot(t.Context(), k.scope, c, "")
	expectCode(t, err, domain.KindConflict, "object_store_missing")
}

// Another tenant's snapshot is as one that isn't there, and neither tenant's
// snapshot has anything of the other's.
func TestSnapshot_IsItsTenantsAlone(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		other := *k
		other.scope.Tenant = domain.NewID[domain.TenantKind](k.scope.Expires)
		other.scope.Tenant[0]++
		other.begin(t, k.format)
		mine, theirs, w := &ledger{}, &ledger{}, k.upkeep(t, Options{})
		k.collection(t, "orders")
		other.collection(t, "orders")
		k.fill(t, mine, "orders", 5, 64)
		other.fill(t, theirs, "orders", 7, 128)
		first, second := k.request(t, "orders"), other.request(t, "orders")
		k.expectAt(t, mine, "orders", k.complete(t, w, "orders", first))
		other.expectAt(t, theirs, "orders", other.complete(t, w, "orders", second))
		_, err := other.Snapshot(t.Context(), other.scope, "orders", first.ID)
		expectCode(t, err, domain.KindNotFound, "snapshot_not_found")
		_, err = other.PresignSnapshot(t.Context(), other.scope, "orders", first.ID, 0, 0)
		expectCode(t, err, domain.KindNotFound, "snapshot_not_found")
	})
}
