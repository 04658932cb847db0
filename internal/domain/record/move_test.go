package record

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// exactly makes a collection of bodies that something might take for what they are not:
// R15.
func (k *keeper) exactly(t testing.TB, name string) string {
	t.Helper()
	c := k.collection(t, name)
	large := strings.Repeat("\x00\xff\r\n", 128<<10) // 512 KiB: the most that is inline
	for i, body := range []string{
		"", "\x00", "\xff\xfe bad UTF-8 \xc3", "line\r\nline\n\r", "\xef\xbb\xbfBOM", "\\x00 '; --", large, large + "!", large + large, large + large + "\x00",
	} {
		key := fmt.Sprint("key-", i)
		p := items(key, body)
		p.Bodies["plans"], p.Bodies["decision-packets"] = []byte{}, []byte("the same in all")
		k.publish(t, c, p)
		k.publish(t, c, Publication{Key: key, Tombstones: []string{"plans"}, Expect: Expectation{Revision: 1}})
	}
	k.publish(t, c, Publication{Key: "key-3", Bodies: map[string][]byte{"closed": []byte("shut\r\n")}, Expect: Expectation{Revision: 2}})
	if _, err := k.Delete(t.Context(), k.scope, c, nil, "key-4", 2, "gone"); err != nil {
		t.Fatal(err)
	}
	return c
}

// seen is all that readers see of a collection, and its times, but for where its
// bodies are.
func (k *keeper) seen(t testing.TB, c string) (lines []string) {
	t.Helper()
	for _, line := range k.list(t, c) {
		lines = append(lines, withoutPlace(line))
	}
	lines = append(lines, k.export(t, c, "", 3)...)
	page, err := k.Records(t.Context(), k.scope, c, Filter{}, "", MaxExported)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range page.Records {
		lines = append(lines, fmt.Sprint(r.Key, " created at ", r.CreatedAt, ", updated at ", r.UpdatedAt))
		for _, s := range r.Sections {
			lines = append(lines, fmt.Sprint(s.Name, " updated at ", s.UpdatedAt))
		}
	}
	return lines
}

// stays is a collection's state but for what a move is about.
func (s state) stays() state {
	left := state{}
	for what, of := range s {
		if !strings.HasPrefix(what, "section ") && !strings.HasPrefix(what, "chunks ") && what != "collection" {
			left[what] = of
		}
	}
	return left
}

// There and back again, from either format, pass by pass: readers, the check and
// snapshots find the same at each step, and in the end all is as it was.
func TestMove_ThereAndBack_ChangesNothingThatIsSeen(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		c := k.exactly(t, "orders")
		w := k.upkeep(t, Options{})
		m := k.mover(t, c, Options{})
		seen, stays, rows := k.seen(t, c), k.stateOf(t, c).stays(), k.rows(t, c)
		lines := k.download(t, c, k.snapshot(t, w, c))
		for _, to := range []int16{other(k.format), k.format} {
			steps := 0
			m.over(t, to, func() {
				if steps++; steps == 2 {
					if diff := cmp.Diff(seen, k.seen(t, c)); diff != "" {
						t.Errorf("on the way to %d, readers see something else (-before +now)\n%s", to, diff)
					}
					if diff := cmp.Diff(lines, k.download(t, c, k.snapshot(t, w, c))); diff != "" {
						t.Errorf("on the way to %d, a snapshot has something else (-before +now)\n%s", to, diff)
					}
					k.finds(t)
					k.expectSound(t, c)
					expectDemand(t, m.seal(t))
				}
			})
			if err := m.seal(t); err != nil {
				t.Errorf("seal: %v", err)
			}
			if of, err := k.Collection(t.Context(), k.scope, c); err != nil || !of.Sealed || of.Format != to {
				t.Errorf("%+v, %v", of, err)
			}
			if diff := cmp.Diff(seen, k.seen(t, c)); diff != "" {
				t.Errorf("in %d, readers see something else (-before +now)\n%s", to, diff)
			}
			if diff := cmp.Diff(stays, k.stateOf(t, c).stays()); diff != "" {
				t.Errorf("in %d, something else has changed (-before +now)\n%s", to, diff)
			}
			k.finds(t)
		}
		k.expectRows(t, c, rows)
		if err := m.seal(t); err != nil {
			t.Errorf("what is sealed is sealed: %v", err)
		}
	})
}

// A collection that has gone back to SQL still has sections in the store. Those that
// a publication changes come with it, named or implied, and the others stay where
// they are until a pass takes them.
func TestPublish_MovesWhatItChanges_OutOfTheStore(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatStore)
	c := k.collection(t, "orders")
	large := string(bytes.Repeat([]byte("chunked "), 150<<10)) // three chunks
	k.publish(t, c, Publication{Key: "a", Bodies: map[string][]byte{"items": []byte(large), "plans": []byte("p"), "decision-packets": []byte("d")}, Expect: Expectation{Absent: true}})
	k.publish(t, c, items("b", "b"))
	m := k.mover(t, c, Options{})
	m.turn(t, FormatSQL)

	k.publish(t, c, Publication{Key: "a", Bodies: map[string][]byte{"plans": []byte("P")}, Expect: Expectation{Revision: 1}})
	k.expectRows(t, c, "sequence 5, records 2, sections_in_sql 1, section_chunks 0, sections_in_store 3, export_entries 4, receipts 3, fences 0")
	for section, want := range map[string]string{"items": large, "plans": "P", "decision-packets": "d"} {
		if got := k.body(t, c, "a", section); got != want {
			t.Errorf("%s has %d bytes, not %d", section, len(got), len(want))
		}
	}
	k.finds(t)
	// The tombstones that follow from it come too.
	k.publish(t, c, Publication{Key: "a", Bodies: map[string][]byte{"closed": []byte(large)}, Expect: Expectation{Revision: 2}})
	k.expectRows(t, c, "sequence 8, records 2, sections_in_sql 3, section_chunks 3, sections_in_store 2, export_entries 5, receipts 4, fences 0")
	if moved := m.walk(t, FormatStore, 0, func() {}); moved != 2 {
		t.Errorf("%d records were moved", moved)
	}
	k.expectRows(t, c, "sequence 8, records 2, sections_in_sql 5, section_chunks 3, sections_in_store 0, export_entries 5, receipts 4, fences 0")
	if _, err := k.Delete(t.Context(), k.scope, c, nil, "a", 3, ""); err != nil {
		t.Fatal(err)
	}
	k.expectSound(t, c)
	k.finds(t)
}

// What changes between the capture and the commit stays as it is now, with the pass
// around it, whichever way that goes.
func TestMove_LeavesWhatHasChangedMeanwhile(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		c := k.collection(t, "orders")
		for _, key := range []string{"a", "b", "c"} {
			k.publish(t, c, Publication{Key: key, Bodies: map[string][]byte{"items": []byte(key), "plans": []byte("p")}, Expect: Expectation{Absent: true}})
		}
		m := k.mover(t, c, Options{})
		upTo := m.turn(t, other(k.format))
		capture, prepared := m.capture(t, k.format, Cursor{}, upTo)
		defer capture.Close()
		k.publish(t, c, Publication{Key: "b", Bodies: map[string][]byte{"items": []byte("newer")}, Expect: Expectation{Revision: 1}})
		if moved, err := m.commit(t, capture, prepared); err != nil || moved != 2 {
			t.Errorf("%d records were moved, %v", moved, err)
		}
		if got := k.body(t, c, "b", "items") + k.body(t, c, "b", "plans"); got != "newerp" {
			t.Errorf("b reads as %q", got)
		}
		k.finds(t)
		// The same again, of what is no more there: another worker's pass, say.
		if moved, err := m.commit(t, capture, prepared); err != nil || moved != 0 {
			t.Errorf("again %d records were moved, %v", moved, err)
		}
		if moved := m.walk(t, k.format, upTo, func() {}); moved != 1 {
			t.Errorf("the next sweep moved %d", moved)
		}
		if err := m.seal(t); err != nil {
			t.Error(err)
		}
		k.expectSound(t, c)
		k.finds(t)
	})
}

// The transaction itself holds to what it must: without the comparison before it, a
// record that has changed stops it.
func TestMove_StopsAtWhatIsNotAsItWasCaptured(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		c := k.collection(t, "orders")
		k.publish(t, c, items("a", "a"))
		k.publish(t, c, items("b", "b"))
		m := k.mover(t, c, Options{})
		capture, prepared := m.capture(t, k.format, Cursor{}, 1<<40)
		defer capture.Close()
		k.publish(t, c, Publication{Key: "b", Bodies: map[string][]byte{"items": []byte("newer")}, Expect: Expectation{Revision: 1}})
		for _, format := range []int16{k.format, other(k.format)} {
			if format != k.format {
				m.turn(t, format)
			}
			k.expectUnchanged(t, c, func() { expectDemand(t, m.commitBlindly(t, capture, prepared)) })
		}
		k.finds(t)
	})
}

// What the store doesn't give for what may pass is no defect: the pass fails, and
// comes again.
func TestMove_BackFailsWithTheStore_AndDefersWhatIsWrongThere(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatStore)
	c := k.collection(t, "orders")
	for _, key := range []string{"corrupt", "fine", "missing"} {
		k.publish(t, c, Publication{Key: key, Bodies: map[string][]byte{"items": []byte(key + " items"), "plans": []byte(key + " plans")}, Expect: Expectation{Absent: true}})
	}
	bucket := k.bucket(t)
	corrupt := k.object(t, c, "corrupt plans")
	if err := bucket.Delete(t.Context(), corrupt, k.object(t, c, "missing items")); err != nil {
		t.Fatal(err)
	}
	if _, err := bucket.Ensure(t.Context(), corrupt, []byte("corrupt PLANS"), DigestOf([]byte("corrupt PLANS")), false); err != nil {
		t.Fatal(err)
	}
	m := k.mover(t, c, Options{})
	m.turn(t, FormatSQL)
	capture, prepared := m.capture(t, FormatStore, Cursor{}, 0)
	defer capture.Close()
	want := []Defect{{"corrupt", "plans", DefectCorrupt}, {"missing", "items", DefectMissing}}
	if diff := cmp.Diff(want, prepared.Defects); diff != "" {
		t.Errorf("defects (-want +got)\n%s", diff)
	}
	if moved, err := m.commit(t, capture, prepared); err != nil || moved != 1 {
		t.Errorf("%d records were moved, %v", moved, err)
	}
	k.faults.On("GET", testkit.Refuse(403, "AccessDenied", 0))
	before := k.faults.Count("GET")
	_, err := m.Prepare(t.Context(), capture, NewPipelines(1))
	expectCode(t, err, domain.KindUnavailable, "object_store_unavailable")
	if n := k.faults.Count("GET") - before; n != 1 {
		t.Errorf("behind the failure it went on, for %d requests", n)
	}
	if got := k.body(t, c, "fine", "items"); got != "fine items" {
		t.Errorf("%q", got)
	}
}
