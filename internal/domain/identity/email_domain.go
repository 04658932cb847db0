package identity

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// mailDomain is UTS 46 with everything strict: non-transitional (ß stays ß),
// letters, digits and inner hyphens only (STD 3), joiners and writing
// directions checked, labels at most 63 octets and the whole 253. Never changed.
var mailDomain = idna.New(
	idna.MapForLookup(),
	idna.Transitional(false),
	idna.StrictDomainName(true),
	idna.ValidateLabels(true),
	idna.CheckHyphens(true),
	idna.CheckJoiners(true),
	idna.BidiRule(),
	idna.VerifyDNSLength(true),
)

// mailDomainKey is the domain of an address in A-labels and lower case: at
// least two labels, no trailing dot, no address literal or bare IP address.
// bücher.de and xn--bcher-kva.de have one key.
func mailDomainKey(s string) (string, error) {
	if strings.ContainsFunc(s, invisibleInDomain) {
		return "", errEmail("has a space, or an invisible or unassigned character, after its @")
	}
	// Until Unicode 15.1 UTS 46 took the capital ẞ for ss, though ß is itself.
	s = strings.ReplaceAll(s, "ẞ", "ß")
	if falseALabel(s) {
		return "", errEmailDomain()
	}
	key, err := mailDomain.ToASCII(s)
	if err != nil {
		return "", errEmailDomain()
	}
	// The profile passes some that it would not pass again (ℵ becomes a letter
	// that is written from right to left). The second pass also decodes each
	// A-label and encodes it anew.
	if again, err := mailDomain.ToASCII(key); err != nil || again != key {
		return "", errEmailDomain()
	}
	if !hostname(key) {
		return "", errEmailDomain()
	}
	return key, nil
}

// falseALabel tells whether a label, once mapped, claims to be an A-label and
// is not ASCII. The profile decodes that too: "xn--が-" like "が". NFKC, lower
// case and the ideographic full stop are all of UTS 46 that can make "xn--" or
// a dot.
func falseALabel(s string) bool {
	mapped := strings.ToLower(norm.NFKC.String(s))
	for label := range strings.FieldsFuncSeq(mapped, func(r rune) bool { return r == '.' || r == '。' }) {
		if strings.HasPrefix(label, "xn--") && !isASCII(label) {
			return true
		}
	}
	return false
}

// hostname adds what the profile doesn't ask for: two labels, none empty at the
// end ("golang.org.."), and a top one that starts with a letter (RFC 1123,
// section 2.1), so that no spelling of an IP address passes.
func hostname(s string) bool {
	labels := strings.Split(s, ".")
	if len(labels) < 2 || slices.Contains(labels, "") {
		return false
	}
	return isASCIILetter(labels[len(labels)-1][0])
}

// invisibleInDomain leaves the two joiners, which some scripts need, to the
// profile's contextual rules. All others UTS 46 would drop silently, and the
// address as given would not be what it looks like.
func invisibleInDomain(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return r >= utf8.RuneSelf && r != nonJoiner && r != joiner && invisible(r)
}

func errEmailDomain() error {
	return errEmail("needs a domain name of at least two labels after its @, such as example.com")
}
