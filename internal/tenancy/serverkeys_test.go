package tenancy

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func newServerKeys(t *testing.T, keys ...ServerKey) *ServerKeys {
	t.Helper()
	k, err := NewServerKeys(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestServerKeys_RotateWithoutLosingWhatIsKeptUnderTheOld(t *testing.T) {
	t.Parallel()
	old, next := ServerKey{ID: "old", Secret: [32]byte{1}}, ServerKey{ID: "next", Secret: [32]byte{2}}
	before, during, after := newServerKeys(t, old), newServerKeys(t, next, old), newServerKeys(t, next)
	id, sealed := before.Seal([]byte("seed"), "kid")
	secret, err := before.Derive("old", "api-key", "1")
	if err != nil || id != "old" || during.Current() != "next" {
		t.Fatalf("sealed under %s, current %s, %v", id, during.Current(), err)
	}
	plain, err := during.Open(id, sealed, "kid")
	if err != nil || string(plain) != "seed" {
		t.Errorf("opened %q, %v", plain, err)
	}
	again, err := during.Derive("old", "api-key", "1")
	if err != nil || !bytes.Equal(again, secret) {
		t.Errorf("derived %x, %v; want %x", again, err, secret)
	}
	other, err := during.Derive("next", "api-key", "1")
	if err != nil || bytes.Equal(other, secret) {
		t.Errorf("both keys derive the same secret (%v)", err)
	}
	if _, err := after.Open(id, sealed, "kid"); !errors.Is(err, ErrNoServerKey) {
		t.Errorf("open without the key: %v", err)
	}
	if _, err := after.Derive("old", "api-key", "1"); !errors.Is(err, ErrNoServerKey) {
		t.Errorf("derive without the key: %v", err)
	}
}

func TestServerKeys_SealBindsToTheNameAndTheBytes(t *testing.T) {
	t.Parallel()
	k := newServerKeys(t, ServerKey{ID: "k1", Secret: [32]byte{1}})
	id, sealed := k.Seal([]byte("seed"), "kid")
	if bytes.Contains(sealed, []byte("seed")) {
		t.Error("sealed text holds the plain one")
	}
	if _, err := k.Open(id, sealed, "another"); err == nil {
		t.Error("it opens under another name")
	}
	for i := range sealed {
		tampered := bytes.Clone(sealed)
		tampered[i] ^= 1
		if _, err := k.Open(id, tampered, "kid"); err == nil {
			t.Errorf("it opens with byte %d changed", i)
		}
	}
}

func TestNewServerKeys_RefusesWhatIsMalformed(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]ServerKey{
		"none": nil, "twice": {{ID: "k"}, {ID: "k"}}, "no id": {{}}, "capitals": {{ID: "K"}}, "long": {{ID: strings.Repeat("k", 33)}},
	} {
		if _, err := NewServerKeys(keys...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestServerKey_IsNotPrinted(t *testing.T) {
	t.Parallel()
	key := ServerKey{ID: "k1", Secret: [32]byte{0xab, 0xab}}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, key); strings.Contains(text, "171") || strings.Contains(text, "ab") {
			t.Errorf("%s prints %s", format, text)
		}
	}
}
