package record

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// R15: a body is its exact bytes, and an empty one is not none.
func TestBodies_AreExactBytes(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		c := k.collection(t, "orders")
		large := strings.Repeat("\x00\xff\r\n", 128<<10) // 512 KiB: the most that is inline
		for i, body := range []string{
			"", "\x00", "\x00\x00\x00", "\xff\xfe bad UTF-8 \xc3", "line\r\nline\n\r", "\xef\xbb\xbfBOM", "\\x00 '; --", large, large + "!", large + large, large + large + "\x00",
		} {
			key := fmt.Sprint("key-", i)
			p := items(key, body)
			p.Bodies["plans"] = []byte{}
			k.publish(t, c, p)
			k.publish(t, c, Publication{Key: key, Tombstones: []string{"plans"}, Expect: Expectation{Revision: 1}})
			if got := k.body(t, c, key, "items"); got != body {
				t.Errorf("%d bytes came back as %d others", len(body), len(got))
			}
			r, err := k.Record(t.Context(), k.scope, c, key)
			if err != nil {
				t.Fatal(err)
			}
			if s, _ := r.Section("items"); !s.Live || s.Length != int64(len(body)) || s.Digest != DigestOf([]byte(body)) {
				t.Errorf("the row of %d bytes is %+v", len(body), s)
			}
			if s, _ := r.Section("plans"); s.Live || s.Length != 0 || s.Digest != (Digest{}) {
				t.Errorf("the tombstone is %+v", s)
			}
			_, err = k.Body(t.Context(), k.scope, c, key, "plans")
			expectCode(t, err, domain.KindGone, "section_deleted")
			_, err = k.Body(t.Context(), k.scope, c, key, "closed")
			expectCode(t, err, domain.KindNotFound, "section_not_found")
		}
		if lines := len(k.list(t, c)) + len(k.export(t, c, "", MaxExported)); lines != 11*5 { // which verify them
			t.Errorf("%d records and sections", lines)
		}
	})
}

// A body in SQL that isn't what its row says is never given, by whatever way it is
// read: as long as it should be or not, inline or in chunks.
func TestBodies_SpoiltInSQL_AreUnavailable(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	const spoilChunk = `UPDATE section_chunks SET content = set_byte(content, 7, 1) WHERE item_key = $1 AND ordinal = 1`
	for name, spoil := range map[string][]string{
		"inline":        {`UPDATE sections_in_sql SET content = set_byte(content, 7, 1) WHERE item_key = $1`},
		"inline's end":  {`UPDATE sections_in_sql SET content = set_byte(content, length::integer - 1, 1) WHERE item_key = $1`}, // R27
		"chunk":         {spoilChunk},
		"shorter chunk": {`UPDATE section_chunks SET content = substr(content, 2) WHERE item_key = $1 AND ordinal = 1`},
		"longer chunk":  {`UPDATE section_chunks SET content = content || '\x00'::bytea WHERE item_key = $1 AND ordinal = 1`},
		"missing chunk": {`DELETE FROM section_chunks WHERE item_key = $1 AND ordinal = 0`},
		"swapped chunks": {`UPDATE section_chunks SET ordinal = 2 WHERE item_key = $1 AND ordinal = 0`,
			`UPDATE section_chunks SET ordinal = 0 WHERE item_key = $1 AND ordinal = 1`},
	} {
		body := strings.Repeat("inline!", 100)
		if strings.Contains(name, "chunk") {
			body = strings.Repeat("1 chunk ", 60<<10) + strings.Repeat("another ", 60<<10)
		}
		c := k.collection(t, strings.NewReplacer(" ", "-", "'", "-").Replace(name))
		k.publish(t, c, Publication{Key: name, Bodies: map[string][]byte{"items": []byte(body), "plans": []byte("fine")}, Expect: Expectation{Absent: true}})
		admin := k.adminOf(c)
		for _, sql := range spoil {
			if strings.HasPrefix(name, "inline") {
				sql += ` AND section = 'items'`
			}
			if tag, err := admin.Exec(t.Context(), sql, name); err != nil || tag.RowsAffected() != 1 {
				t.Fatalf("%v, %v", tag, err)
			}
		}
		_, err := k.Body(t.Context(), k.scope, c, name, "items")
		expectCode(t, err, domain.KindUnavailable, "body_unavailable")
		_, err = k.RecordWithBodies(t.Context(), k.scope, c, name)
		expectCode(t, err, domain.KindUnavailable, "body_unavailable")
		k.expectExportNames(t, c, name)
		if got := k.body(t, c, name, "plans"); got != "fine" {
			t.Errorf("beside it there is %q", got)
		}
	}
}

// R3, for readers: what the store hasn't, or has otherwise, is unavailable, and
// never missing or a tombstone.
func TestBodies_SpoiltInTheStore_AreUnavailable(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatStore)
	c := k.collection(t, "orders")
	k.publish(t, c, Publication{Key: "a", Bodies: map[string][]byte{"items": []byte("the body"), "plans": []byte("fine")}, Expect: Expectation{Absent: true}})
	if err := k.bucket(t).Delete(t.Context(), k.object(t, c, "the body")); err != nil {
		t.Fatal(err)
	}
	wrong := []byte("the bod?")
	for _, spoilt := range []string{"gone", "other bytes"} {
		if spoilt == "other bytes" {
			if _, err := k.bucket(t).Ensure(t.Context(), k.object(t, c, "the body"), wrong, DigestOf(wrong), false); err != nil {
				t.Fatal(err)
			}
		}
		_, err := k.Body(t.Context(), k.scope, c, "a", "items")
		expectCode(t, err, domain.KindUnavailable, "body_unavailable")
		_, err = k.RecordWithBodies(t.Context(), k.scope, c, "a")
		expectCode(t, err, domain.KindUnavailable, "body_unavailable")
		k.expectExportNames(t, c, "a")
		if r, err := k.Record(t.Context(), k.scope, c, "a"); err != nil || !r.Sections[0].Live {
			t.Errorf("%s: the record is %+v, %v", spoilt, r, err)
		}
	}
}

// R27: nobody gets a part of a body before all of it was verified, to its last byte.
func TestBody_WhoseLastByteIsWrong_IsNotBegun(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatStore)
	c := k.collection(t, "orders")
	body := strings.Repeat("body", 64<<10)
	k.publish(t, c, items("a", body))
	k.faults.On("GET", func(_ *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		answer, err := pass()
		if err == nil {
			answer.Body = struct {
				io.Reader
				io.Closer
			}{io.MultiReader(io.LimitReader(answer.Body, int64(len(body)-1)), strings.NewReader("!")), answer.Body}
		}
		return answer, err
	})
	got, err := k.Body(t.Context(), k.scope, c, "a", "items")
	if expectCode(t, err, domain.KindUnavailable, "body_unavailable"); got != nil {
		t.Errorf("%d bytes come with it", len(got.Body))
	}
	if got := k.body(t, c, "a", "items"); got != body {
		t.Errorf("read again, it has %d bytes", len(got))
	}
}

// expectExportNames holds the export of a collection, whose items can't be had and
// whose plans can, to say so: it fails by name, or is marked in place.
func (k *keeper) expectExportNames(t *testing.T, c, key string) {
	t.Helper()
	_, err := k.Export(t.Context(), k.scope, c, ExportRequest{Bodies: true})
	expectCode(t, err, domain.KindUnavailable, "body_unavailable")
	var refusal *domain.Error
	if errors.As(err, &refusal) {
		if diff := cmp.Diff(map[string]any{"key": key, "section": "items"}, refusal.Members); diff != "" {
			t.Errorf("the page's failure names (-want +got)\n%s", diff)
		}
	}
	page, err := k.Export(t.Context(), k.scope, c, ExportRequest{Bodies: true, Mark: true})
	if err != nil {
		t.Fatal(err)
	}
	defer page.Close()
	items, plans := page.Records[0], page.Records[1]
	if !items.Unavailable || items.Body != nil || plans.Unavailable || string(plans.Body) != "fine" || page.Next != 2 || page.More {
		t.Errorf("items unavailable %v, plans %v; on to %d, more %v", items.Unavailable, plans.Unavailable, page.Next, page.More)
	}
}

// R19.
func TestCollections_AreOneInAnyLetterCase(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	first, created, err := k.CreateCollection(t.Context(), k.scope, NewCollection{Name: "Orders:EU"})
	if err != nil || !created || first.Name != "orders:eu" {
		t.Fatalf("%+v, %v, %v", first, created, err)
	}
	again, created, err := k.CreateCollection(t.Context(), k.scope, NewCollection{Name: "oRDERS:eu"})
	if err != nil || created || !cmp.Equal(first, again) {
		t.Errorf("made again as %+v, %v, %v", again, created, err)
	}
	k.publish(t, "ORDERS:EU", items("Key", "one"))
	k.publish(t, "orders:eu", items("key", "another")) // keys are exact
	if lines := k.list(t, "Orders:Eu"); len(lines) != 4 {
		t.Errorf("there are %q", lines)
	}
	page, err := k.Collections(t.Context(), k.scope, "", 10)
	if err != nil || len(page.Collections) != 1 || page.Collections[0].Sequence != 2 {
		t.Errorf("there are %+v, %v", page, err)
	}
}
