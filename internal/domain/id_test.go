package domain_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

func TestID_HasOneSpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var id domain.AccountID
		copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		text := id.String()
		back, err := domain.ParseID[domain.AccountKind](text)
		if err != nil || back != id {
			t.Fatalf("%s reads back as %v, %v", text, back, err)
		}
		if upper := strings.ToUpper(text); upper != text {
			if _, err := domain.ParseID[domain.AccountKind](upper); err == nil {
				t.Fatalf("%s parses", upper)
			}
		}
	})
	for _, bad := range []string{"", "01935d2c7b547c8e9d0a3b6f1c2d4e5f", "{01935d2c-7b54-7c8e-9d0a-3b6f1c2d4e5f}", "01935d2c-7b54-7c8e-9d0a-3b6f1c2d4e5g", "01935d2c-7b54-7c8e-9d0a-3b6f1c2d4e5f "} {
		if id, err := domain.ParseID[domain.AccountKind](bad); err == nil || !id.IsZero() {
			t.Errorf("%q parses as %v", bad, id)
		}
	}
}

func TestID_TellsItsVersion(t *testing.T) {
	at := time.UnixMilli(0x0123456789ab)
	seven := domain.NewID[domain.AccountKind](at).String()
	if !strings.HasPrefix(seven, "01234567-89ab-7") {
		t.Errorf("%s doesn't begin with its milliseconds and version", seven)
	}
	for want, id := range map[byte]string{'7': seven, '4': domain.RandomID[domain.AccountKind]().String(),
		'8': domain.DeriveID[domain.AccountKind]([]byte("key"), "a").String()} {
		if id[14] != want || !strings.Contains("89ab", id[19:20]) {
			t.Errorf("%s is not of version %c", id, want)
		}
	}
}

func TestDerive_TellsListsOfPartsApart(t *testing.T) {
	key := []byte("key")
	if domain.DeriveID[domain.AccountKind](key, "ab", "c") == domain.DeriveID[domain.AccountKind](key, "a", "bc") {
		t.Error("two lists of parts give one id")
	}
	if first, again := domain.DeriveID[domain.AccountKind](key, "a"), domain.DeriveID[domain.AccountKind](key, "a"); first != again {
		t.Error("the same parts give two ids")
	}
	if domain.DeriveID[domain.AccountKind]([]byte("other"), "a") == domain.DeriveID[domain.AccountKind](key, "a") {
		t.Error("another key gives the same id")
	}
}
