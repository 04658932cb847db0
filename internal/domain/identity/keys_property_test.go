package identity_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

var policies = []identity.HandlePolicy{identity.HandleASCII, identity.HandleUnicode}

// checkHandle holds any text to what is promised of every handle.
func checkHandle(t rapid.TB, policy identity.HandlePolicy, s string) (identity.Handle, bool) {
	t.Helper()
	h, err := identity.ParseHandle(policy, identity.DefaultReserved(), s)
	if err != nil {
		checkRefusal(t, err, s)
		return identity.Handle{}, false
	}
	key := h.Key()
	again, err := identity.ParseHandle(policy, identity.DefaultReserved(), key)
	switch n := utf8.RuneCountInString(key); {
	case err != nil || again.Key() != key || again.Skeleton() != h.Skeleton():
		t.Fatalf("%+q has the key %+q, which has the key %+q, %v", s, key, again.Key(), err)
	case n < 1 || n > 64:
		t.Fatalf("%+q has a key of %d characters", s, n)
	case strings.ContainsAny(key, "@/ ") || strings.ContainsFunc(key, forbidden):
		t.Fatalf("%+q has the key %+q", s, key)
	case h.String() != s:
		t.Fatalf("%+q is shown as %+q", s, h.String())
	case (h.Skeleton() == "") != (policy == identity.HandleASCII):
		t.Fatalf("%+q has the skeleton %+q", s, h.Skeleton())
	case len(h.Skeleton()) >= 2048 || h.Skeleton() == "skeleton/":
		t.Fatalf("%+q has a skeleton of %d octets", s, len(h.Skeleton()))
	}
	if policy == identity.HandleUnicode {
		if _, err := identity.ParseHandle(policy, identity.Reserved{}, h.Skeleton()); err == nil {
			t.Fatalf("%+q has a skeleton that is a handle, %+q", s, h.Skeleton())
		}
	}
	return h, true
}

// checkEmail holds any text to what is promised of every address.
func checkEmail(t rapid.TB, policy identity.HandlePolicy, s string) (identity.Email, bool) {
	t.Helper()
	e, err := identity.ParseEmail(policy, s)
	if err != nil {
		checkRefusal(t, err, s)
		return identity.Email{}, false
	}
	local, host, _ := strings.Cut(e.Key(), "@")
	givenLocal, _, _ := strings.Cut(s, "@")
	again, err := identity.ParseEmail(policy, e.Key())
	switch {
	case err != nil || again.Key() != e.Key():
		t.Fatalf("%+q has the key %+q, which has the key %+q, %v", s, e.Key(), again.Key(), err)
	case len(s) > 254 || len(e.Key()) > 254 || len(local) > 64 || len(local) == 0:
		t.Fatalf("%+q has the key %+q, out of bounds", s, e.Key())
	case strings.ContainsFunc(e.Key(), forbidden) || strings.Count(e.Key(), "@") != 1:
		t.Fatalf("%+q has the key %+q", s, e.Key())
	case isASCII(local) != isASCII(givenLocal):
		t.Fatalf("%+q is merged with the ASCII %+q", s, e.Key())
	case !isASCII(host) || host != strings.ToLower(host) || !strings.Contains(host, ".") || strings.HasSuffix(host, "."):
		t.Fatalf("%+q has the domain %+q", s, host)
	case e.String() != s:
		t.Fatalf("%+q is sent to as %+q", s, e.String())
	}
	return e, true
}

func checkUserCode(t rapid.TB, s string) {
	t.Helper()
	c, err := identity.ParseUserCode(s)
	if err != nil {
		checkRefusal(t, err, s)
		return
	}
	if len(c.Key()) != 8 || strings.Trim(c.Key(), "BCDFGHJKLMNPQRSTVWXZ") != "" || strings.ReplaceAll(c.String(), "-", "") != c.Key() {
		t.Fatalf("%+q is the code %+q, shown %+q", s, c.Key(), c.String())
	}
	for _, spelling := range []string{c.Key(), c.String(), strings.ToLower(c.String())} {
		if again, err := identity.ParseUserCode(spelling); err != nil || again != c {
			t.Fatalf("%+q is another code than %+q, %v", spelling, s, err)
		}
	}
}

func checkRefusal(t rapid.TB, err error, s string) {
	t.Helper()
	if domain.KindOf(err) != domain.KindInvalid || !utf8.ValidString(err.Error()) {
		t.Fatalf("%+q: %v", s, err)
	}
}

func forbidden(r rune) bool {
	return unicode.IsControl(r) || r == utf8.RuneError || unicode.Is(unicode.Bidi_Control, r)
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > 127 })
}

// otherCase draws s with some letters replaced by ones that differ only in case
// (simple case folding).
func otherCase(t *rapid.T, s string) string {
	return strings.Map(func(r rune) rune {
		other := r
		for range rapid.IntRange(0, 3).Draw(t, "turns") {
			other = unicode.SimpleFold(other)
		}
		if unicode.IsLetter(r) != unicode.IsLetter(other) {
			return r // the iota below (U+0345) is a mark, and joins what stands before it
		}
		return other
	}, s)
}

// words draws text that has a chance to be a handle or a local part.
func words() *rapid.Generator[string] {
	punctuation := rapid.SampledFrom([]rune("._-0123456789"))
	alphabet := func(tables ...*unicode.RangeTable) *rapid.Generator[string] {
		letter := rapid.RuneFrom(nil, tables...)
		return rapid.StringOfN(rapid.OneOf(letter, letter, letter, punctuation), 1, 20, -1)
	}
	return rapid.OneOf(
		rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_.-]{0,63}`),
		alphabet(unicode.Latin),
		alphabet(unicode.Latin, unicode.Mn),
		alphabet(unicode.Greek),
		alphabet(unicode.Cyrillic),
		alphabet(unicode.Armenian),
		alphabet(unicode.Cherokee),
		alphabet(unicode.Hebrew),
		alphabet(unicode.Arabic),
		alphabet(unicode.Devanagari),
		alphabet(unicode.Han, unicode.Hiragana, unicode.Katakana),
		alphabet(unicode.Upper),
		alphabet(unicode.Lower),
		rapid.String(),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 300), func(b []byte) string { return string(b) }),
	)
}

func domains() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`([A-Za-z0-9][A-Za-z0-9-]{0,20}\.){1,4}[A-Za-z]{2,6}`),
		rapid.StringMatching(`(xn--[a-z0-9-]{1,20}\.){1,3}(com|xn--p1ai)`),
		rapid.Map(words(), func(s string) string { return s + ".example" }),
		words(),
	)
}

func TestHandle_KeepsItsPromisesForAnyText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		checkHandle(t, rapid.SampledFrom(policies).Draw(t, "policy"), words().Draw(t, "handle"))
	})
}

func TestHandle_SpellingsThatDifferInCaseOnlyHaveOneKey(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		policy := rapid.SampledFrom(policies).Draw(t, "policy")
		a, ok := checkHandle(t, policy, words().Draw(t, "handle"))
		if !ok {
			return
		}
		spelling := otherCase(t, a.String())
		if b, ok := checkHandle(t, policy, spelling); ok && (a.Key() != b.Key() || a.Skeleton() != b.Skeleton()) {
			t.Fatalf("%+q and %+q: keys %+q and %+q", a, b, a.Key(), b.Key())
		} else if !ok && policy == identity.HandleASCII && isASCII(spelling) {
			t.Fatalf("%+q is a handle and %+q is none", a, spelling)
		}
	})
}

func TestHandle_EveryASCIINameIsAHandleUnderBothPoliciesWithOneKey(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_.-]{0,63}`).Draw(t, "handle")
		for _, policy := range policies {
			h, err := identity.ParseHandle(policy, identity.Reserved{}, s)
			if err != nil || h.Key() != strings.ToLower(s) {
				t.Fatalf("%s: %q has the key %q, %v", policy, s, h.Key(), err)
			}
		}
	})
}

func TestEmail_KeepsItsPromisesForAnyText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		policy := rapid.SampledFrom(policies).Draw(t, "policy")
		s := words().Draw(t, "local") + rapid.SampledFrom([]string{"@", "@", "@", "@", "", "＠"}).Draw(t, "at") + domains().Draw(t, "domain")
		checkEmail(t, policy, s)
	})
}

func TestEmail_CapitalsOfOneAddressHaveOneKey(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		policy := rapid.SampledFrom(policies).Draw(t, "policy")
		local, host := words().Draw(t, "local"), domains().Draw(t, "domain")
		a, ok := checkEmail(t, policy, local+"@"+host)
		if !ok {
			return
		}
		// Lower case is what compares, so a rune is exchanged for another that
		// has the same. (The capital of ı is I, that of ς is Σ: they are others.)
		flip := func(r rune) rune {
			if up := unicode.ToUpper(r); rapid.Bool().Draw(t, "flip") && unicode.ToLower(up) == unicode.ToLower(r) {
				return up
			}
			return r
		}
		s := strings.Map(flip, local) + "@" + strings.Map(flip, host)
		if b, ok := checkEmail(t, policy, s); ok && a.Key() != b.Key() {
			t.Fatalf("%+q and %+q: keys %+q and %+q", a, b, a.Key(), b.Key())
		} else if !ok && isASCII(s) {
			t.Fatalf("%+q is an address and %+q is none", a, s)
		}
	})
}

func TestUserCode_IsFoundAmongAnyNoise(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var secret [32]byte
		copy(secret[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "secret"))
		want := identity.NewUserCode(secret)
		noise := rapid.StringOfN(rapid.SampledFrom([]rune(" -–—.\t\n\u00a0\u200bAEIOUaeiou0189ſ")), 0, 3, -1)
		var typed strings.Builder
		for _, letter := range want.Key() {
			typed.WriteString(noise.Draw(t, "noise"))
			typed.WriteRune(letter)
		}
		if got, err := identity.ParseUserCode(typed.String()); err != nil || got != want {
			t.Fatalf("%+q: %s, %v; want %s", typed.String(), got, err, want)
		}
		checkUserCode(t, rapid.String().Draw(t, "any text"))
	})
}
