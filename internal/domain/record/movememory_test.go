package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// R14: a record of two bodies of 8 MiB that nothing compresses, far above the caps,
// goes alone, there and back. The heap has what the record needs.
func TestMove_OfALargeRecord_StaysWithinItsRoom(t *testing.T) {
	k := newKeeper(t, FormatSQL).large(t)
	c := k.collection(t, "large")
	for key, bodies := range map[string]map[string][]byte{
		"large": {"items": noise(1), "plans": noise(2)}, "small": {"items": []byte("small")}, "large too": {"items": noise(3), "plans": noise(4)},
	} {
		k.publish(t, c, Publication{Key: key, Bodies: bodies, Expect: Expectation{Absent: true}})
	}
	seen := k.digests(t, c)
	m := k.mover(t, c, Options{Memory: NewMemory(64 << 20)})
	m.caps.Bytes = 64 << 10
	for _, to := range []int16{FormatStore, FormatSQL} {
		heap := watchHeap()
		m.over(t, to, func() {
			if !m.Memory().idle() {
				t.Error("a pass has kept room in memory")
			}
		})
		peak := heap.stop()
		t.Logf("on the way to %d the heap grew by %d MiB", to, peak>>20)
		if most := uint64(3*2*largeBody + heapOverhead); peak > most {
			t.Errorf("that is more than %d MiB", most>>20)
		}
		if err := m.seal(t); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(seen, k.digests(t, c)); diff != "" {
		t.Errorf("readers see something else (-before +now)\n%s", diff)
	}
	k.finds(t)
}

// digests are those of all sections, by the export.
func (k *keeper) digests(t testing.TB, c string) (all map[string]Digest) {
	t.Helper()
	page, err := k.Export(t.Context(), k.scope, c, ExportRequest{})
	if err != nil {
		t.Fatal(err)
	}
	all = map[string]Digest{}
	for _, e := range page.Records {
		all[e.Key+" "+e.Name] = e.Digest
	}
	return all
}

// R14: rows that are small as they are kept, and decompress to 200 MiB, are told by
// their lengths, and nothing of them is fetched.
func TestMove_OfContentThatIsLongerThanItsLength_FetchesNothing(t *testing.T) {
	k := newKeeper(t, FormatSQL)
	c := k.collection(t, "bombs")
	k.publish(t, c, Publication{Key: "a", Expect: Expectation{Absent: true}, Bodies: map[string][]byte{"items": chunkyBody, "plans": []byte("small")}})
	k.publish(t, c, items("b", "small"))
	for _, sql := range []string{
		`ALTER TABLE sections_in_sql DROP CONSTRAINT sections_in_sql_honest`,
		`ALTER TABLE section_chunks DROP CONSTRAINT section_chunks_content_check`,
		`UPDATE sections_in_sql SET content = convert_to(repeat('x', 200 << 20), 'UTF8') WHERE section = 'plans'`,
		`UPDATE section_chunks SET content = convert_to(repeat('x', 200 << 20), 'UTF8') WHERE section = 'items' AND ordinal = 1`,
	} {
		if _, err := k.adminOf(c).Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	m := k.mover(t, c, Options{})
	k.expectDefects(t, m, m.turn(t, FormatStore), Defect{"a", "items", DefectLength}, Defect{"a", "plans", DefectLength})
}

// In the store it is the rows that may say what they like of lengths, and objects
// that may have any.
func TestMove_BackOfObjectsOfOtherLengths_FetchesNothing(t *testing.T) {
	k := newKeeper(t, FormatStore)
	c := k.collection(t, "bombs")
	k.publish(t, c, Publication{Key: "a", Expect: Expectation{Absent: true}, Bodies: map[string][]byte{"items": []byte("items"), "plans": []byte("small")}})
	k.publish(t, c, items("b", "small too"))
	if _, err := k.adminOf(c).Exec(t.Context(), `UPDATE sections_in_store SET length = 1::bigint << 50 WHERE section = 'items' AND item_key = 'a'`); err != nil {
		t.Fatal(err)
	}
	bucket, key, long := k.bucket(t), k.object(t, c, "small"), make([]byte, 32<<20)
	if err := bucket.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if _, err := bucket.Ensure(t.Context(), key, long, DigestOf(long), false); err != nil {
		t.Fatal(err)
	}
	m := k.mover(t, c, Options{})
	k.expectDefects(t, m, m.turn(t, FormatSQL), Defect{"a", "items", DefectLength}, Defect{"a", "plans", DefectCorrupt})
}

// expectDefects has all records captured, and finds defects at little cost. The
// other records move.
func (k *keeper) expectDefects(t *testing.T, m *mover, upTo int64, want ...Defect) {
	t.Helper()
	of, err := k.Collection(t.Context(), k.scope, m.name)
	if err != nil {
		t.Fatal(err)
	}
	before := allocated()
	var found []Defect
	moved := 0
	for at, more := (Cursor{}), true; more; {
		c, p := m.capture(t, other(of.Format), at, upTo)
		n, err := m.commit(t, c, p)
		if err != nil {
			t.Fatal(err)
		}
		found, moved = append(found, p.Defects...), moved+n
		at, more = c.After, c.More
		c.Close()
	}
	if diff := cmp.Diff(want, found); diff != "" || moved != 1 {
		t.Errorf("moved %d, with defects (-want +got)\n%s", moved, diff)
	}
	if took := allocated() - before; took > 16<<20 {
		t.Errorf("it took %d MiB to find them", took>>20)
	}
	m.api.expectNothingTaken(t)
	if !m.Memory().idle() {
		t.Error("a pass has kept room in memory")
	}
}
