package identity

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// KeyRules is the version of the rules by which this package makes canonical
// keys. It is stored with each claim. Raise it whenever some text might get
// another key than before: because a rule changed, or because a toolchain or a
// module brought newer Unicode tables.
const KeyRules = 1

// damage says why s can't be text that somebody meant, in words that follow
// "the handle " or the like; "" when nothing is wrong. U+FFFD counts: decoders
// put it where they met something broken (a lone surrogate in JSON, say), so
// two different broken texts would otherwise share one key.
func damage(s string) string {
	switch {
	case !utf8.ValidString(s):
		return "is not valid UTF-8"
	case strings.ContainsRune(s, 0):
		return "contains a NUL character"
	case strings.ContainsRune(s, utf8.RuneError):
		return "contains U+FFFD, which stands for text that was damaged on its way"
	default:
		return ""
	}
}

// unfit is damage, and control characters too.
func unfit(s string) string {
	if why := damage(s); why != "" {
		return why
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return "contains a control character"
	}
	return ""
}

// invisible tells a rune that shows nothing of its own: spaces, format
// characters, variation selectors and fillers; also the private and unassigned
// ones, of which nobody can say what they show.
func invisible(r rune) bool {
	return r == ' ' || !unicode.IsPrint(r) ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

func isASCIILetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isASCIIDigit(c byte) bool { return '0' <= c && c <= '9' }
