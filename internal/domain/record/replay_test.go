package record

import (
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// The moments of a decision.
var (
	lockCollections = testkit.Statement("FOR NO KEY UPDATE) c")
	commitMove      = testkit.CommitOf("UPDATE collections c SET export_sequence")
)

// R20, and with the commit lost as well: the same operation id finds out, and with
// other bytes it is a conflict.
func TestAPublicationsAnswerLost_TheSameIDFindsOut(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		for name, lose := range map[string]func(*testkit.Proxied){
			"before": func(n *testkit.Proxied) { n.CutBefore(t, commitMove) },
			"behind": func(n *testkit.Proxied) { n.CutAfter(t, commitMove) },
		} {
			c := k.collection(t, name)
			r := k.networked(t)
			lose(r.network)
			p := items("a", "bytes")
			p.OperationID = "once"
			_, err := r.Publish(t.Context(), k.scope, c, nil, p)
			expectCode(t, err, domain.KindOutcomeUnknown, "outcome_unknown")
			receipt, err := k.Publish(t.Context(), k.scope, c, nil, p)
			if err != nil || receipt.Replayed != (name == "behind") || receipt.Revision != 1 {
				t.Errorf("%s the commit: %+v, %v", name, receipt, err)
			}
			stored, err := k.StoredReceipt(t.Context(), k.scope, c, "once")
			receipt.Replayed = false
			if err != nil || !cmp.Equal(*stored.Publication, receipt) {
				t.Errorf("the receipt is %+v, %v, and was %+v", stored.Publication, err, receipt)
			}
			k.expectUnchanged(t, c, func() {
				p.Bodies = map[string][]byte{"items": []byte("other bytes")}
				_, err := k.Publish(t.Context(), k.scope, c, nil, p)
				expectCode(t, err, domain.KindConflict, "operation_id_reused")
			})
		}
	})
}

// R28: an operation id is bound to what is asked, however it is encoded, in
// whatever order its parts came, and whoever asks under which claim.
func TestAnOperationID_IsBoundToWhatIsAsked(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	c := k.collection(t, "orders")
	digest := DigestOf([]byte("x"))
	ask := func() Publication {
		return Publication{Key: "a", OperationID: "once", Bodies: map[string][]byte{"items": []byte("body"), "plans": {}}, Expect: Expectation{Absent: true}}
	}
	first := k.publish(t, c, ask())
	decoded, err := base64.StdEncoding.DecodeString("Ym9keQ==")
	if err != nil {
		t.Fatal(err)
	}
	for name, same := range map[string]func(*Publication){
		"from base64":            func(p *Publication) { p.Bodies = map[string][]byte{"plans": nil, "items": decoded} },
		"as another producer":    func(p *Publication) { p.Producer = "another" },
		"under a claim":          func(p *Publication) { p.Claim = &Claim{"batch", 7} },
		"with empty lists":       func(p *Publication) { p.Tombstones = []string{} },
		"with no digests at all": func(p *Publication) { p.Expect.Digests = map[string]*Digest{} },
	} {
		p := ask()
		same(&p)
		again, err := k.Publish(t.Context(), k.scope, c, nil, p)
		replayed := first
		replayed.Replayed = true
		if diff := cmp.Diff(replayed, again); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
		}
	}
	before := k.stateOf(t, c)
	for name, other := range map[string]func(*Publication){
		"another body":              func(p *Publication) { p.Bodies["items"] = []byte("bodY") },
		"a section less":            func(p *Publication) { delete(p.Bodies, "plans") },
		"a tombstone for a body":    func(p *Publication) { delete(p.Bodies, "plans"); p.Tombstones = []string{"plans"} },
		"a tombstone more":          func(p *Publication) { p.Tombstones = []string{"closed"} },
		"another section's name":    func(p *Publication) { delete(p.Bodies, "plans"); p.Bodies["decision-packets"] = []byte{} },
		"another key":               func(p *Publication) { p.Key = "b" },
		"another kind of condition": func(p *Publication) { p.Expect = Expectation{Revision: 1} },
		"digests":                   func(p *Publication) { p.Expect = Expectation{Digests: map[string]*Digest{"items": nil}} },
		"other digests":             func(p *Publication) { p.Expect = Expectation{Digests: map[string]*Digest{"items": &digest}} },
		"a fence":                   func(p *Publication) { p.Expect = Expectation{Fence: &Fence{"f", 1}} },
		"another fence":             func(p *Publication) { p.Expect = Expectation{Fence: &Fence{"f", 2}} },
		"a delete": func(p *Publication) {
			*p = Publication{Key: "a", OperationID: "once", everything: true, Expect: Expectation{Revision: 1}}
		},
	} {
		p := ask()
		other(&p)
		_, err := k.Publish(t.Context(), k.scope, c, nil, p)
		if domain.CodeOf(err) != "operation_id_reused" {
			t.Errorf("with %s: %v", name, err)
		}
	}
	if behind := k.stateOf(t, c); !behind.equal(before) {
		t.Errorf("it has changed: %s", behind.differs(before))
	}
	// In another collection it is another operation.
	other := k.collection(t, "others")
	if receipt := k.publish(t, other, ask()); receipt.Replayed {
		t.Error("replayed in another collection")
	}
}

// R21.
func TestPublishEach_OneConflict_LeavesItsNeighbours(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		c := k.collection(t, "orders")
		k.publish(t, c, items("key-17", "stands"))
		var all []Publication
		for i := range 50 {
			p := items(fmt.Sprint("key-", i), fmt.Sprint("body ", i))
			p.OperationID = fmt.Sprint("each-", i)
			all = append(all, p)
		}
		for _, replayed := range []bool{false, true} {
			made, err := k.PublishEach(t.Context(), k.scope, c, nil, all)
			if err != nil {
				t.Fatal(err)
			}
			for i, m := range made {
				switch {
				case i == 17:
					expectCode(t, m.Err, domain.KindPreconditionFailed, "record_exists")
				case m.Err != nil || m.Receipt.Replayed != replayed || m.Receipt.Revision != 1:
					t.Errorf("%d: %+v, %v", i, m.Receipt, m.Err)
				}
			}
		}
		if got := k.body(t, c, "key-17", "items"); got != "stands" {
			t.Errorf("the conflict wrote %q", got)
		}
		if page, err := k.Records(t.Context(), k.scope, c, Filter{}, "", 100); err != nil || len(page.Records) != 50 {
			t.Errorf("%d records, %v", len(page.Records), err)
		}
	})
}
