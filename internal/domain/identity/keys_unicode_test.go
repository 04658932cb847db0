package identity_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/idna"
	"golang.org/x/text/cases"
	"golang.org/x/text/secure/precis"
	"golang.org/x/text/unicode/bidi"
	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

const tablesChanged = "the tables behind canonical keys are not those that KeyRules %d was made with: " +
	"bump KeyRules, or re-verify that every key in use stays what it is, then put the new value here"

func TestUnicodeTables_AreThoseOfTheseKeyRules(t *testing.T) {
	want := map[string]string{
		"unicode": "15.0.0", "bidi": "15.0.0", "cases": "15.0.0", "idna": "15.0.0",
		"norm": "15.0.0", "precis": "15.0.0", "width": "15.0.0",
	}
	got := map[string]string{
		"unicode": unicode.Version, "bidi": bidi.UnicodeVersion, "cases": cases.UnicodeVersion, "idna": idna.UnicodeVersion,
		"norm": norm.Version, "precis": precis.UnicodeVersion, "width": width.UnicodeVersion,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf(tablesChanged+" (-want +got):\n%s", identity.KeyRules, diff)
	}
}

// Versions don't tell everything: the confusables have none to ask for, and
// code changes too. So the outcome for each single rune is pinned, as a digest.
func TestEveryRune_HasTheOutcomeOfTheseKeyRules(t *testing.T) {
	t.Parallel()
	handles, emails, domains := sha256.New(), sha256.New(), sha256.New()
	eachRune(func(r rune) {
		h, err := identity.ParseHandle(identity.HandleUnicode, identity.Reserved{}, string(r))
		fmt.Fprintf(handles, "%x %s %s %s\n", r, h.Key(), h.Skeleton(), domain.CodeOf(err))
		e, err := identity.ParseEmail(identity.HandleUnicode, string(r)+"@x.com")
		fmt.Fprintf(emails, "%x %s %s\n", r, e.Key(), domain.CodeOf(err))
		e, err = identity.ParseEmail(identity.HandleUnicode, "a@"+string(r)+".com")
		fmt.Fprintf(domains, "%x %s %s\n", r, e.Key(), domain.CodeOf(err))
	})
	want := map[string]string{
		"handles": "abf62ce8ee7ba2b987af89e9a5dd2b00a56e23f97368fd95a915dfba63fd0104",
		"emails":  "37310368d65bbd727e2c26d53d085b9eeae0ac8e2ce7b6b3d2e60e2b245ab6b5",
		"domains": "db258770fb48f0f867312bf930e67bc863f0f8cda51ced930dd9fede020bb797",
	}
	got := map[string]string{
		"handles": hex.EncodeToString(handles.Sum(nil)),
		"emails":  hex.EncodeToString(emails.Sum(nil)),
		"domains": hex.EncodeToString(domains.Sum(nil)),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf(tablesChanged+" (-want +got):\n%s", identity.KeyRules, diff)
	}
}

func TestEveryRune_SharesItsHandleKeyWithItsOtherCases(t *testing.T) {
	t.Parallel()
	accepted := 0
	eachRune(func(r rune) {
		a, err := identity.ParseHandle(identity.HandleUnicode, identity.Reserved{}, string(r))
		if err != nil {
			return
		}
		accepted++
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			b, err := identity.ParseHandle(identity.HandleUnicode, identity.Reserved{}, string(other))
			if err == nil && a.Key() != b.Key() {
				t.Errorf("%U and %U: keys %+q and %+q", r, other, a.Key(), b.Key())
			}
		}
	})
	if accepted < 100_000 {
		t.Errorf("only %d runes are handles", accepted)
	}
}

// eachRune visits the planes with characters in them, private ones aside.
func eachRune(visit func(rune)) {
	for r := rune(0); r < 0x40000; r++ {
		if r < 0xd800 || r > 0xf8ff {
			visit(r)
		}
	}
	for r := rune(0xe0000); r < 0xe0200; r++ {
		visit(r)
	}
}
