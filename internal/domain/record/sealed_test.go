package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// alsoIn gives every section a row in the other format too, that says something else.
var alsoIn = map[int16]string{
	FormatSQL: `
INSERT INTO sections_in_sql SELECT tenant_id, number, collection_id, item_key, section, 1, true, sha256('another'), 7, 'another', 0, 'nobody', export_sequence, updated_at
  FROM sections_in_store`,
	FormatStore: `
INSERT INTO sections_in_store SELECT tenant_id, number, collection_id, item_key, section, true, sha256('another'), 7, 0, 'nobody', export_sequence, updated_at
  FROM sections_in_sql`,
}

// What stands in the other format of a sealed collection is nothing to anybody who
// reads or publishes, and the check tells of it.
func TestSealed_NobodyLooksIntoTheOtherFormat(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		c := k.exactly(t, "orders")
		w := k.upkeep(t, Options{})
		list, seen := k.list(t, c), k.seen(t, c)
		lines := k.download(t, c, k.snapshot(t, w, c))
		if _, err := k.adminOf(c).Exec(t.Context(), alsoIn[other(k.format)]); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(list, k.list(t, c)); diff != "" {
			t.Errorf("the list has changed (-before +now)\n%s", diff)
		}
		if diff := cmp.Diff(seen, k.seen(t, c)); diff != "" {
			t.Errorf("readers see something else (-before +now)\n%s", diff)
		}
		if diff := cmp.Diff(lines, k.download(t, c, k.snapshot(t, w, c))); diff != "" {
			t.Errorf("a snapshot has something else (-before +now)\n%s", diff)
		}
		if got := k.body(t, c, "key-1", "items"); got != "\x00" {
			t.Errorf("%q", got)
		}
		nothing := DigestOf([]byte("\x00"))
		k.publish(t, c, Publication{Key: "key-1", Bodies: map[string][]byte{"items": []byte("next")}, Expect: Expectation{Digests: map[string]*Digest{"items": &nothing}}})
		if got := k.body(t, c, "key-1", "items"); got != "next" {
			t.Errorf("%q", got)
		}
		_, found := k.inspect(t, Checking{})
		if len(found) == 0 {
			t.Error("the check finds nothing")
		}
		if err := k.mover(t, c, Options{}).seal(t); err != nil {
			t.Error(err)
		}
		k.setFormat(t, c, k.format) // which breaks the seal
		expectDemand(t, k.mover(t, c, Options{}).seal(t))
	})
}
