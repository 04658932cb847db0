package record

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// asText is a value as receipts keep it.
func asText(t *testing.T, value any) string {
	t.Helper()
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
