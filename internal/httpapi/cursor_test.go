package httpapi

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

func drawListing(t *rapid.T, label string) listing {
	return listing{
		tenant: domain.TenantID{15: rapid.Byte().Draw(t, label+" tenant")},
		name:   rapid.SampledFrom([]string{"accounts", "tenants"}).Draw(t, label+" name"),
		filter: rapid.SampledFrom([]string{"", "active", "disabled"}).Draw(t, label+" filter"),
	}
}

func TestCursor_RoundTripsAndIsGoodForItsOwnListingOnly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 1, 32), 1, 3).Draw(t, "secrets")
		position := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "position")
		mine, theirs := drawListing(t, "mine"), drawListing(t, "theirs")
		c := newCursors(secrets)

		cursor := c.seal(mine, position)
		got, err := c.open(mine, cursor)
		if err != nil || !bytes.Equal(got, position) {
			t.Fatalf("open gives %x, %v; want %x", got, err, position)
		}
		if _, err := c.open(theirs, cursor); (err == nil) != (mine == theirs) {
			t.Fatalf("a cursor of %v opens for %v: %v", mine, theirs, err)
		}
	})
}

func TestCursor_WithAnyBitFlippedIsInvalid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := newCursors([][]byte{[]byte("secret")})
		l := drawListing(t, "listing")
		cursor := []byte(c.seal(l, rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "position")))
		for i := range cursor {
			for bit := range 8 {
				flipped := bytes.Clone(cursor)
				flipped[i] ^= 1 << bit
				if _, err := c.open(l, string(flipped)); domain.CodeOf(err) != "cursor_invalid" {
					t.Fatalf("%q with bit %d of byte %d flipped: %v", cursor, bit, i, err)
				}
			}
		}
	})
}

func TestCursor_SurvivesARotationOfKeys(t *testing.T) {
	t.Parallel()
	old, fresh := []byte("old"), []byte("fresh")
	l := listing{name: "accounts"}
	cursor := newCursors([][]byte{old}).seal(l, []byte("x"))
	if _, err := newCursors([][]byte{fresh, old}).open(l, cursor); err != nil {
		t.Errorf("while both keys are known: %v", err)
	}
	if _, err := newCursors([][]byte{fresh}).open(l, cursor); domain.CodeOf(err) != "cursor_invalid" {
		t.Errorf("when the old key has gone: %v", err)
	}
}

func TestCursor_HasOneSpelling(t *testing.T) {
	t.Parallel()
	c := newCursors([][]byte{[]byte("secret")})
	l := listing{name: "accounts"}
	cursor := c.seal(l, []byte("xy"))
	sealed, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{
		cursor + "\n", cursor[:4] + "\r\n" + cursor[4:], cursor + "=", " " + cursor,
		base64.StdEncoding.EncodeToString(sealed) + "=", "", strings.Repeat("A", 1<<16),
	} {
		if _, err := c.open(l, other); domain.CodeOf(err) != "cursor_invalid" {
			t.Errorf("%.40q: %v", other, err)
		}
	}
}

func FuzzCursor(f *testing.F) {
	c := newCursors([][]byte{[]byte("secret")})
	l := listing{name: "accounts", filter: "active"}
	f.Add(c.seal(l, []byte("x")))
	f.Add("")
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, cursor string) {
		position, err := c.open(l, cursor)
		if err == nil && c.seal(l, position) != cursor {
			t.Fatalf("%q opens and is not what seal makes", cursor)
		}
		if err != nil && domain.CodeOf(err) != "cursor_invalid" {
			t.Fatal(err)
		}
	})
}
