package record

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// inspect checks all of the tenant, and gives what it found in words.
func (k *keeper) inspect(t testing.TB, c Checking) (census Census, found []string) {
	t.Helper()
	c.Found = func(v Violation) error {
		found = append(found, strings.Join(strings.Fields(fmt.Sprint(v.Kind, " ", v.Collection, " ", v.Key, " ", v.Section, " ", v.ID)), " "))
		if v.Detail == "" || k.router.Named(v.Database) == nil {
			t.Errorf("violation %+v", v)
		}
		return nil
	}
	census, err := k.Check(t.Context(), k.scope.Tenant, c)
	if err != nil {
		t.Fatal(err)
	}
	if got := census.Violations + census.Unreachable; got != int64(len(found)) {
		t.Errorf("the census counts %d findings of %d", got, len(found))
	}
	return census, found
}

func (k *keeper) finds(t testing.TB, want ...string) {
	t.Helper()
	_, found := k.inspect(t, Checking{Bodies: true})
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
}

// lived is a collection in which there is something of everything.
func (k *keeper) lived(t testing.TB, name string) string {
	t.Helper()
	c := k.collection(t, name)
	publish := func(operation, key string, p Publication) {
		p.Key, p.OperationID = key, operation
		k.publish(t, c, p)
	}
	body := func(section, text string) map[string][]byte { return map[string][]byte{section: []byte(text)} }
	publish("big-1", "big", Publication{Expect: Expectation{Absent: true},
		Bodies: map[string][]byte{"items": bytes.Repeat([]byte("\x00seven!"), 100_000), "plans": {}}})
	publish("small-1", "small", Publication{Expect: Expectation{Absent: true},
		Bodies: map[string][]byte{"items": []byte("one"), "decision-packets": []byte("p")}})
	publish("done-1", "done", Publication{Expect: Expectation{Absent: true}, Bodies: body("items", "open")})
	publish("done-2", "done", Publication{Expect: Expectation{Revision: 1}, Bodies: body("closed", "shut")})
	publish("gone-1", "gone", Publication{Expect: Expectation{Absent: true}, Bodies: body("items", "soon gone")})
	if _, err := k.Delete(t.Context(), k.scope, c, nil, "gone", 1, "gone-2"); err != nil {
		t.Fatal(err)
	}
	publish("fenced-1", "fenced", Publication{Expect: Expectation{Fence: &Fence{"f", 2}}, Bodies: body("items", "two")})
	publish("fenced-2", "fenced", Publication{Expect: Expectation{Fence: &Fence{"f", 1}}, Bodies: body("items", "too late")})
	b1, err := k.Claim(t.Context(), k.scope, c, nil, ClaimBatch{ID: "b1", Owner: "w", Items: []string{"v", "x"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = k.Complete(t.Context(), k.scope, c, nil, "b1", CompleteBatch{OperationID: "b1-done", Items: []Publication{
		{Key: "x", OperationID: "x-1", Bodies: body("items", "made"), Expect: Expectation{Absent: true}, Claim: &Claim{Generation: b1.Items[1].Generation}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Claim(t.Context(), k.scope, c, nil, ClaimBatch{ID: "b2", Owner: "w", Items: []string{"y", "z"}, Term: MaxBatchTerm}); err != nil {
		t.Fatal(err)
	}
	return c
}

// livedCensus is what there is of one such collection.
var livedCensus = Census{
	Collections: 1, Records: 6, Live: 7, Tombstones: 2, Bodies: 7, Bytes: 700_000 + 0 + 3 + 1 + 4 + 3 + 4,
	Fences: 1, Batches: 2, Claims: 2, Receipts: 10,
}

func TestCheck_FindsNothingInHonestRecords(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		names := []string{"orders", "orders:eu", "stock", "w:one"}
		var want Census
		for _, name := range names {
			k.lived(t, name)
			want.add(livedCensus)
		}
		k.collection(t, "empty")
		want.Collections++
		var seen Census
		census, found := k.inspect(t, Checking{Bodies: true, Progress: func(c Census) { seen = c }})
		if len(found) > 0 {
			t.Errorf("found %v", found)
		}
		if diff := cmp.Diff(want, census); diff != "" || seen != census {
			t.Errorf("census, of which %+v was shown last (-want +got):\n%s", seen, diff)
		}
		if one, found := k.inspect(t, Checking{Bodies: true, Collection: "Orders:EU"}); one != livedCensus || len(found) > 0 {
			t.Errorf("one collection has %+v and %v", one, found)
		}
		k.everywhere(t, `UPDATE tenant_gates SET state = 'suspended'`)
		if again, found := k.inspect(t, Checking{Bodies: true}); again != want || len(found) > 0 {
			t.Errorf("suspended, the tenant has %+v and %v", again, found)
		}
		requests := len(k.faults.Requests())
		want.Bodies, want.Bytes = 0, 0
		if quick, found := k.inspect(t, Checking{}); quick != want || len(found) > 0 || len(k.faults.Requests()) != requests {
			t.Errorf("without bodies, the tenant has %+v and %v", quick, found)
		}
	})
}

func TestCheck_ReadsPageBehindPage(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		const records = 2*checkPage + 3
		c := k.collection(t, "orders")
		all := make([]Publication, 0, MaxPublications)
		for n := range records {
			key := fmt.Sprintf("key-%04d", n)
			all = append(all, Publication{Key: key, OperationID: "make-" + key, Expect: Expectation{Fence: &Fence{key, 1}},
				Bodies: map[string][]byte{"items": []byte(key), "plans": []byte("the same")}})
			if len(all) < MaxPublications && n < records-1 {
				continue
			}
			made, err := k.PublishEach(t.Context(), k.scope, c, nil, all)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range made {
				if m.Err != nil {
					t.Fatal(m.Err)
				}
			}
			all = all[:0]
		}
		census, found := k.inspect(t, Checking{Bodies: true})
		want := Census{Collections: 1, Records: records, Live: 2 * records, Bodies: 2 * records, Bytes: records * 16, Fences: records, Receipts: records}
		if diff := cmp.Diff(want, census); diff != "" || len(found) > 0 {
			t.Errorf("found %v; census (-want +got):\n%s", found, diff)
		}
		k.everywhere(t, `UPDATE records SET live = false WHERE item_key IN ('key-0000', 'key-0250', 'key-0402')`)
		k.everywhere(t, `DELETE FROM export_entries WHERE item_key = 'key-0301' AND section = 'plans'`)
		k.finds(t, "record_differs orders key-0000", "record_differs orders key-0250", "export_entry_missing orders key-0301 plans", "record_differs orders key-0402")
	})
}

// A section's row is in SQL, in a collection whose new bodies are in the store: it
// is on its way there.
func TestCheck_FindsNothingInACollectionThatMoves(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	c := k.lived(t, "orders")
	k.everywhere(t, `UPDATE collections SET record_format = 2, sealed = false`)
	k.publish(t, c, Publication{Key: "small", Bodies: map[string][]byte{"items": []byte("two")}, Expect: Expectation{Revision: 1}})
	k.finds(t)
	if k.faults.Count("GET") == 0 {
		t.Error("nothing was read from the store")
	}
}
