package record

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// A completion shows the record that an item met, and so does whoever asks again
// when it is long another.
func TestBatch_AConflictShowsTheRecordAsItStood(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		c := k.collection(t, "orders")
		for _, key := range []string{"exists", "differs"} {
			k.publish(t, c, items(key, "standing"))
		}
		has := k.take(t, c, "b", "differs", "exists", "missing")
		differs, missing := claimed("differs", "b", has["differs"]), claimed("missing", "b", has["missing"])
		differs.Expect = Expectation{Digests: map[string]*Digest{"items": nil}}
		missing.Expect = Expectation{Revision: 1}
		req := CompleteBatch{OperationID: "all", Items: []Publication{claimed("exists", "b", has["exists"]), differs, missing}}
		standing := map[string]Record{}
		for _, key := range []string{"exists", "differs"} {
			r, err := k.Record(t.Context(), k.scope, c, key)
			if err != nil {
				t.Fatal(err)
			}
			standing[key] = r
		}

		done, err := k.Complete(t.Context(), k.scope, c, nil, "b", req)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []CompletedItem{
			{Key: "exists", Code: "record_exists"}, {Key: "differs", Code: "digest_mismatch", Section: "items"}, {Key: "missing", Code: "record_not_found"},
		} {
			got := done.Items[i]
			if got.Key != want.Key || got.Outcome != ItemConflict || got.Code != want.Code || got.Section != want.Section {
				t.Errorf("%+v, want %+v", got, want)
			}
			r, stands := standing[want.Key]
			if (got.Record != nil) != stands || stands && asText(t, got.Record) != asText(t, &r) {
				t.Errorf("%s shows %+v, want %+v", want.Key, got.Record, r)
			}
		}
		k.publish(t, c, Publication{Key: "exists", Bodies: map[string][]byte{"items": []byte("newer")}, Expect: Expectation{Revision: 1}})
		again, err := k.Complete(t.Context(), k.scope, c, nil, "b", req)
		if err != nil || !again.Replayed {
			t.Fatalf("asked again: %+v, %v", again, err)
		}
		stored, err := k.StoredReceipt(t.Context(), k.scope, c, "all")
		if err != nil {
			t.Fatal(err)
		}
		for name, got := range map[string]*Completion{"the retry": &again, "the receipt": stored.Completion} {
			if diff := cmp.Diff(asText(t, &done), asText(t, got)); diff != "" {
				t.Errorf("%s (-want +got)\n%s", name, diff)
			}
		}
		k.expectSound(t, c)
	})
}

// Whose body can't be stored is said; nothing was published of the others.
func TestBatch_ACompletionSaysWhoseBodyCannotBeStored(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatStore)
	c := k.collection(t, "orders")
	has := k.take(t, c, "b", "good", "spoilt")
	good, spoilt := claimed("good", "b", has["good"]), claimed("spoilt", "b", has["spoilt"])
	spoilt.Bodies = map[string][]byte{"items": []byte("body")}
	if _, err := k.bucket(t).Ensure(t.Context(), k.object(t, c, "body"), []byte("ydob"), DigestOf([]byte("ydob")), false); err != nil {
		t.Fatal(err)
	}
	k.expectUnchanged(t, c, func() {
		_, err := k.Complete(t.Context(), k.scope, c, nil, "b", CompleteBatch{OperationID: "all", Items: []Publication{good, spoilt}})
		expectCode(t, err, domain.KindUnavailable, "body_unavailable")
		var e *domain.Error
		if !errors.As(err, &e) || e.Members["key"] != "spoilt" {
			t.Errorf("it names %v", e.Members)
		}
	})
}

// Who looks without locks may miss a heartbeat that has just been committed: only
// behind the locks is a claim's time over.
func TestBatch_AClaimsTimeIsJudgedBehindTheLocks(t *testing.T) {
	t.Parallel()
	k := newClocked(t, FormatSQL)
	c := k.collection(t, "orders")
	p := claimed("x", "b", k.take(t, c, "b", "x")["x"])
	if p.by(k.scope); p.check(k.limits) != nil {
		t.Fatal("it is invalid")
	}
	d := p.decision(k.scope, ref{numberOf(c), c}, nil)
	d.decide = func(c *locked) error {
		_, err := c.publish(&p)
		return err
	}
	k.advance(t, time.Hour)
	if _, err := k.rehearse(t.Context(), d); err != nil {
		t.Errorf("the rehearsal refuses it: %v", err)
	}
	expectCode(t, k.decide(t.Context(), d), domain.KindConflict, "claim_lost")
	k.take(t, c, "other", "x")
	_, err := k.rehearse(t.Context(), d)
	expectCode(t, err, domain.KindConflict, "claim_lost")
	k.expectRecords(t, c)
}

// asText is a value as receipts keep it.
func asText(t *testing.T, value any) string {
	t.Helper()
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
