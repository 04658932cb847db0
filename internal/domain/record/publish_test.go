package record

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

func TestPublish_CreatesChangesAndTombstones(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		c := k.collection(t, "orders")
		large := string(bytes.Repeat([]byte("\x00\xffno text\r\n"), 100_000))
		receipt := k.publish(t, "Orders", Publication{
			Key: "a/1", Bodies: map[string][]byte{"items": []byte(large), "plans": {}}, Expect: Expectation{Absent: true},
		})
		if receipt.Outcome != Published || receipt.Revision != 1 || len(receipt.Changes) != 2 {
			t.Errorf("created as %+v", receipt)
		}
		if got := k.body(t, c, "a/1", "items"); got != large {
			t.Errorf("%d bytes came back, of %d", len(got), len(large))
		}
		if got := k.body(t, c, "a/1", "plans"); got != "" {
			t.Errorf("the empty body came back as %q", got)
		}
		receipt = k.publish(t, c, Publication{Key: "a/1", Bodies: map[string][]byte{"closed": []byte("done")}, Expect: Expectation{Revision: 1}})
		want := Record{
			Collection: "orders", Key: "a/1", Revision: 2, Live: true,
			Sections: []Section{
				{Name: "closed", Live: true, Digest: DigestOf([]byte("done")), Length: 4, Producer: "tester", Sequence: 3},
				{Name: "items", Producer: "tester", Sequence: 4},
				{Name: "plans", Producer: "tester", Sequence: 5},
			},
		}
		got, err := k.Record(t.Context(), k.scope, c, "a/1")
		if err != nil {
			t.Fatal(err)
		}
		ignore := cmpopts.IgnoreFields(Record{}, "CreatedAt", "UpdatedAt")
		if diff := cmp.Diff(want, got, ignore, cmpopts.IgnoreFields(Section{}, "UpdatedAt"), cmpopts.IgnoreUnexported(Section{})); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		_, err = k.Body(t.Context(), k.scope, c, "a/1", "plans")
		expectCode(t, err, domain.KindGone, "section_deleted")
		page, err := k.Export(t.Context(), k.scope, c, ExportRequest{Bodies: true})
		if err != nil {
			t.Fatal(err)
		}
		defer page.Close()
		var order []string
		for _, e := range page.Records {
			order = append(order, e.Name+"="+string(e.Body))
		}
		if diff := cmp.Diff([]string{"closed=done", "items=", "plans="}, order); diff != "" || page.Next != 5 || page.More {
			t.Errorf("export to %d, more %v (-want +got)\n%s", page.Next, page.More, diff)
		}
	})
}

func TestBatch_ClaimsBeatsAndCompletes(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		c := k.collection(t, "orders")
		b, err := k.Claim(t.Context(), k.scope, c, nil, ClaimBatch{ID: "b1", Owner: "w1", Items: []string{"x", "y", "z"}})
		if err != nil {
			t.Fatal(err)
		}
		other, err := k.Claim(t.Context(), k.scope, c, nil, ClaimBatch{ID: "b2", Owner: "w2", Items: []string{"y", "q"}})
		if err != nil || other.Items[1].State != ItemHeld || other.Items[0].State != ItemLeased {
			t.Fatalf("%+v, %v", other, err)
		}
		items := []ClaimedItem{{"x", b.Items[0].Generation}, {"q", 1}}
		beaten, err := k.Heartbeat(t.Context(), k.scope, c, nil, "b1", items, 0)
		if err != nil || beaten[0].State != ItemLeased || beaten[1].State != ItemLeaseExpired {
			t.Fatalf("%+v, %v", beaten, err)
		}
		req := CompleteBatch{OperationID: "done", Items: []Publication{
			{Key: "x", OperationID: "done-x", Bodies: map[string][]byte{"items": []byte("X")}, Expect: Expectation{Absent: true}, Claim: &Claim{Generation: b.Items[0].Generation}},
			{Key: "y", OperationID: "done-y", Bodies: map[string][]byte{"items": []byte("Y")}, Expect: Expectation{Revision: 7}, Claim: &Claim{Generation: b.Items[1].Generation}},
		}}
		done, err := k.Complete(t.Context(), k.scope, c, nil, "b1", req)
		if err != nil || done.Items[0].Outcome != ItemPublished || done.Items[1].Outcome != ItemConflict {
			t.Fatalf("%+v, %v", done, err)
		}
		again, err := k.Complete(t.Context(), k.scope, c, nil, "b1", req)
		if err != nil || !again.Replayed {
			t.Fatalf("%+v, %v", again, err)
		}
		shown, err := k.Batch(t.Context(), k.scope, c, "b1")
		if err != nil || !shown.Completed || shown.Items[2].State != ItemReleased {
			t.Fatalf("%+v, %v", shown, err)
		}
		if got := k.body(t, c, "x", "items"); got != "X" {
			t.Errorf("published %q", got)
		}
	})
}
