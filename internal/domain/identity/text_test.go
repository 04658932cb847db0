package identity_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

func TestDamagedText_IsRefusedByNameEverywhere(t *testing.T) {
	parsers := map[string]func(string) error{
		"handle, ascii": func(s string) error {
			_, err := identity.ParseHandle(identity.HandleASCII, identity.Reserved{}, "alice"+s)
			return err
		},
		"handle, unicode": func(s string) error {
			_, err := identity.ParseHandle(identity.HandleUnicode, identity.Reserved{}, "alice"+s)
			return err
		},
		"local part": func(s string) error {
			_, err := identity.ParseEmail(identity.HandleUnicode, "alice"+s+"@example.com")
			return err
		},
		"domain": func(s string) error {
			_, err := identity.ParseEmail(identity.HandleASCII, "alice@example"+s+".com")
			return err
		},
		"user code": func(s string) error {
			_, err := identity.ParseUserCode("WDJB" + s + "MJHT")
			return err
		},
	}
	for name, parse := range parsers {
		for text, word := range map[string]string{
			"\x00":         "NUL",
			"\xff":         "UTF-8",
			"\xc0\x80":     "UTF-8", // NUL in two octets
			"\xed\xa0\x80": "UTF-8", // a lone surrogate
			"\ufffd":       "U+FFFD",
			"\x1b":         "control",
			"\u009b":       "control",
		} {
			err := parse(text)
			if name == "user code" && word == "control" {
				if err != nil {
					t.Errorf("%s with %+q: %v; what is not in the alphabet is dropped", name, text, err)
				}
				continue
			}
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("%s with %+q: %v; want the word %q", name, text, err, word)
			}
		}
	}
}
