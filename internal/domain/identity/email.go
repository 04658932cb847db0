package identity

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// The bounds of an address in octets: of the local part (RFC 5321, section
// 4.5.3.1.1), and of the whole (a path's 256 less its angle brackets, section
// 4.5.3.1.3). Both hold for the address as given and for its key.
const (
	maxLocalPart = 64
	maxEmail     = 254
)

// Email is one mailbox address. The zero Email is none.
type Email struct {
	given string
	key   string
}

// ParseEmail takes a single dot-atom address (RFC 5322, section 3.4.1, without
// comments or folding space) and nothing around it: no display name, group,
// quoted local part or address literal. Nothing is stripped from the local
// part, dots and "+tag" included: only the receiving host may interpret it.
// Errors are Invalid: email_empty, email_too_long, email_invalid.
func ParseEmail(policy HandlePolicy, s string) (Email, error) {
	if s == "" {
		return Email{}, domain.Invalid("email_empty", "The email address is empty.")
	}
	if len(s) > maxEmail {
		return Email{}, errEmailTooLong()
	}
	if why := unfit(s); why != "" {
		return Email{}, errEmail(why)
	}
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return Email{}, errEmail("needs an @ between its local part and its domain")
	}
	local, err := localPartKey(policy, s[:at])
	if err != nil {
		return Email{}, err
	}
	host, err := mailDomainKey(s[at+1:])
	if err != nil {
		return Email{}, err
	}
	e := Email{given: s, key: local + "@" + host}
	if len(e.key) > maxEmail {
		return Email{}, errEmailTooLong()
	}
	return e, nil
}

// RestoreEmail gives the address of a stored row. It trusts its arguments and
// runs no rule: a key is made once, by the rules of its day.
func RestoreEmail(given, key string) Email { return Email{given: given, key: key} }

// String is the address as given, for sending.
func (e Email) String() string { return e.given }

// Key is the canonical form, for comparing and for claiming: the local part in
// lower case, the domain in A-labels. At most 254 octets.
func (e Email) Key() string { return e.key }

// IsZero tells the absent address.
func (e Email) IsZero() bool { return e == Email{} }

// localPartKey checks the part before the @ and puts it in lower case.
func localPartKey(policy HandlePolicy, s string) (string, error) {
	if len(s) > maxLocalPart {
		return "", errLocalPartTooLong()
	}
	if !dotAtom(s) {
		return "", errEmail("has a local part that is not a dot-atom: words of letters, digits and !#$%&'*+-/=?^_`{|}~ with single dots between")
	}
	switch {
	case policy != HandleASCII && policy != HandleUnicode:
		return "", errPolicy(policy)
	case isASCII(s):
		return strings.ToLower(s), nil
	case policy == HandleASCII:
		return "", errEmail("has a character beyond ASCII before its @")
	default:
		return unicodeLocalPartKey(s)
	}
}

// dotAtom tells whether s is atoms with single dots between. Runes beyond
// ASCII count as atom text (RFC 6531, section 3.3).
func dotAtom(s string) bool {
	for atom := range strings.SplitSeq(s, ".") {
		if atom == "" {
			return false
		}
		for _, c := range []byte(atom) {
			if c < utf8.RuneSelf && !isASCIILetter(c) && !isASCIIDigit(c) && strings.IndexByte("!#$%&'*+-/=?^_`{|}~", c) < 0 {
				return false
			}
		}
	}
	return true
}

// unicodeLocalPartKey is NFC, lower case rune by rune, in NFC again. It merges
// no rune beyond ASCII with an ASCII one: they may be two mailboxes.
func unicodeLocalPartKey(s string) (string, error) {
	composed := norm.NFC.String(s)
	if strings.ContainsFunc(s, becomesASCII) || strings.ContainsFunc(composed, becomesASCII) {
		return "", errEmail("has a variant of an ASCII character before its @, as İ is of i: use the plain one")
	}
	if strings.ContainsFunc(s, invisible) {
		return "", errEmail("has an invisible or unassigned character before its @")
	}
	key := norm.NFC.String(strings.Map(unicode.ToLower, composed))
	if len(key) > maxLocalPart {
		return "", errLocalPartTooLong()
	}
	return key, nil
}

// becomesASCII tells a rune beyond ASCII that lower case or a normal form
// turns into ASCII, in whole or in part: KELVIN SIGN, İ, fullwidth letters,
// ligatures. (The key takes NFC alone, and mail hosts are known to take NFKC.)
func becomesASCII(r rune) bool {
	if r < utf8.RuneSelf {
		return false
	}
	return unicode.ToLower(r) < utf8.RuneSelf ||
		strings.ContainsFunc(norm.NFKC.String(string(r)), func(r rune) bool { return r < utf8.RuneSelf })
}

func errEmail(why string) error { return domain.Invalid("email_invalid", "The email address "+why+".") }

func errEmailTooLong() error {
	return domain.Invalid("email_too_long", "The email address is longer than 254 octets.")
}

func errLocalPartTooLong() error {
	return domain.Invalid("email_too_long", "The part of the email address before its @ is longer than 64 octets.")
}
