package record

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Any publications, one behind the other, come to what the reference says: each
// answer, and behind each of them all records, the export, and every row. In the
// midst of it the collection may go over to the store.
func TestPublications_ComeToWhatTheReferenceSays(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		rapid.Check(t, func(t *rapid.T) {
			w := newWalk(t, k)
			for range rapid.IntRange(1, 14).Draw(t, "steps") {
				r := w.draw(t)
				want, got := w.publish(r), k.ask(t, w.collection, r)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%+v (-want +got)\n%s", r, diff)
				}
				if w.format == FormatSQL && rapid.IntRange(0, 19).Draw(t, "moves") == 0 {
					w.format = FormatStore
					k.setFormat(t, w.collection, FormatStore)
				}
				section := rapid.SampledFrom(append(w.sections, "")).Draw(t, "exported")
				k.expectState(t, w.collection, w.reference, section, rapid.IntRange(1, 4).Draw(t, "page"))
			}
			for id, made := range w.receipts {
				stored, err := k.StoredReceipt(t.Context(), k.scope, w.collection, id)
				if err != nil || stored.Completion != nil || stored.Publication.OperationID != id {
					t.Fatalf("%s has left %+v, %v", id, stored, err)
				}
				if diff := cmp.Diff(made.answer, toldReceipt(*stored.Publication)); diff != "" {
					t.Errorf("the receipt of %s (-want +got)\n%s", id, diff)
				}
			}
		})
	})
}

// walk is a collection beside its reference, and what was asked of it so far.
type walk struct {
	*reference
	collection string
	sections   []string
	asked      []request
}

func newWalk(t *rapid.T, k *keeper) *walk {
	w := &walk{collection: fmt.Sprint("walk-", k.names.Add(1))}
	want := NewCollection{Name: w.collection, Profile: drawProfile(t)}
	made, _, err := k.CreateCollection(t.Context(), k.scope, want)
	if err != nil {
		t.Fatal(err)
	}
	w.reference = &reference{
		primaries: []string{"closed", "items"}, companions: map[string][]string{"plans": {"items"}, "decision-packets": {"closed", "items"}},
		format: made.Format, records: map[string]*referenceRecord{}, receipts: map[string]referenceReceipt{}, fences: map[string]referenceFence{},
	}
	if p := want.Profile; p != nil {
		w.primaries, w.companions = p.Primaries, p.Companions
	}
	w.sections = slices.Sorted(slices.Values(slices.Concat(w.primaries, slices.Collect(maps.Keys(w.companions)))))
	return w
}

// drawProfile gives a profile of a tenant's own, or nil for the canonical one.
func drawProfile(t *rapid.T) *Profile {
	if rapid.Bool().Draw(t, "canonical") {
		return nil
	}
	p := &Profile{Primaries: []string{"p1", "p2", "p3"}[:rapid.IntRange(1, 3).Draw(t, "primaries")], Companions: map[string][]string{}}
	for _, companion := range []string{"a", "q", "z"}[:rapid.IntRange(0, 3).Draw(t, "companions")] {
		p.Companions[companion] = rapid.SliceOfNDistinct(rapid.SampledFrom(p.Primaries), 1, len(p.Primaries), rapid.ID[string]).Draw(t, "beside")
	}
	return p
}

var drawBody = rapid.Custom(func(t *rapid.T) string {
	switch rapid.IntRange(0, 30).Draw(t, "kind") {
	case 0:
		return strings.Repeat("\x00chunked\xff", 600<<10/9) // in two chunks
	case 1:
		return ""
	default:
		return rapid.SampledFrom([]string{"a", "b", "\x00", "\xef\xbb\xbf\r\n", "\xff\xfe"}).Draw(t, "body")
	}
})

// draw gives a request: often one that may be made, and sometimes one that was made
// before, or has the operation id or all the rest of one.
func (w *walk) draw(t *rapid.T) request {
	if len(w.asked) > 0 && rapid.IntRange(0, 4).Draw(t, "repeats") == 0 {
		r := rapid.SampledFrom(w.asked).Draw(t, "repeated")
		if rapid.Bool().Draw(t, "anew") {
			r.operation = fmt.Sprint("operation ", len(w.asked))
			w.asked = append(w.asked, r)
		}
		return r
	}
	r := request{
		operation: fmt.Sprint("operation ", len(w.asked)),
		producer:  rapid.SampledFrom([]string{"p", "other"}).Draw(t, "producer"),
		key:       rapid.SampledFrom([]string{"k", "K", "é/1"}).Draw(t, "key"),
		bodies:    map[string]string{},
	}
	if len(w.asked) > 0 && rapid.IntRange(0, 9).Draw(t, "reuses") == 0 {
		r.operation = rapid.SampledFrom(w.asked).Draw(t, "reused").operation
	}
	switch deletes := rapid.IntRange(0, 9).Draw(t, "deletes") == 0; {
	case deletes && w.records[r.key] != nil:
		r.everything = true
		if rapid.Bool().Draw(t, "without an id") {
			r.operation = ""
		}
		r.revision = w.drawRevision(t, r.key)
	default:
		w.drawSections(t, &r)
		w.drawExpectation(t, &r)
	}
	if r.operation != "" {
		w.asked = append(w.asked, r)
	}
	return r
}

func (w *walk) drawSections(t *rapid.T, r *request) {
	live := w.records[r.key].live()
	if len(live) == 0 && rapid.IntRange(0, 9).Draw(t, "alone") > 0 {
		r.bodies[rapid.SampledFrom(w.primaries).Draw(t, "primary")] = drawBody.Draw(t, "primary's")
	}
	for _, section := range rapid.SliceOfNDistinct(rapid.SampledFrom(w.sections), 1, min(2, len(w.sections)), rapid.ID[string]).Draw(t, "sections") {
		if _, is := r.bodies[section]; is || len(r.bodies) > 0 && slices.Contains(w.primaries, section) && rapid.IntRange(0, 9).Draw(t, "both") > 0 {
			continue
		}
		if rapid.IntRange(0, 3).Draw(t, "tombstone") == 0 {
			r.tombstones = append(r.tombstones, section)
		} else {
			r.bodies[section] = drawBody.Draw(t, section)
		}
	}
}

func (w *walk) drawExpectation(t *rapid.T, r *request) {
	live := w.records[r.key].live()
	switch likely := rapid.IntRange(0, 5).Draw(t, "wrong way") > 0; rapid.IntRange(0, 2).Draw(t, "expects") {
	case 0:
		if r.absent = (len(live) == 0) == likely; !r.absent {
			r.revision = w.drawRevision(t, r.key)
		}
	case 1:
		r.fence = &Fence{rapid.SampledFrom([]string{"f", "g"}).Draw(t, "fence"), rapid.Int64Range(1, 5).Draw(t, "fence's revision")}
	default:
		r.digests = map[string]*string{}
		for _, section := range rapid.SliceOfNDistinct(rapid.SampledFrom(w.sections), 1, 2, rapid.ID[string]).Draw(t, "expected") {
			body, is := live[section]
			switch {
			case rapid.IntRange(0, 5).Draw(t, "wrong") == 0:
				body = drawBody.Draw(t, "body")
				r.digests[section] = &body
			case is:
				r.digests[section] = &body
			default:
				r.digests[section] = nil
			}
		}
	}
}

// drawRevision gives the record's, or one near it.
func (w *walk) drawRevision(t *rapid.T, key string) int64 {
	revision := int64(1)
	if r := w.records[key]; r != nil {
		revision = r.revision
	}
	if rapid.IntRange(0, 4).Draw(t, "stale") == 0 {
		revision += rapid.SampledFrom([]int64{-1, 1}).Draw(t, "by")
	}
	return max(revision, 1)
}
