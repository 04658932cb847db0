package identity

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/secure/precis"
	"golang.org/x/text/unicode/norm"
)

// unicodeHandleKey makes the key under the unicode policy: RFC 8265's
// UsernameCaseMapped, then one letter for each set of letters that differ only
// in case, then what PRECIS lets pass and a handle must not have.
func unicodeHandleKey(s string) (string, error) {
	mapped, err := precis.UsernameCaseMapped.String(s)
	if err != nil {
		return "", errHandle("has a space, a symbol or a mix of writing directions: use letters and digits")
	}
	key := norm.NFC.String(strings.Map(foldCase, mapped))
	switch {
	case utf8.RuneCountInString(key) > maxHandle:
		return "", errHandleTooLong()
	case strings.ContainsAny(key, "@/"):
		return "", errHandle("can't have @ or /")
	case !oneScript(key):
		return "", errHandle("mixes scripts: write it in one, Latin or Cyrillic or Greek, say")
	case !plainMarks(key):
		return "", errHandle("has accents or other marks that can't be told apart: use fewer, each on a letter of its own")
	}
	return key, nil
}

// foldCase gives the one lower-case letter for all that share r's capital.
// PRECIS maps capitals down and no more, so ΣΑΣ and σας, which differ in case
// only, would be two keys.
func foldCase(r rune) rune {
	if unicode.SimpleFold(r) == r || !unicode.IsLetter(r) {
		// Includes ı, whose capital is I though no folding makes them one, and
		// the iota below (U+0345), whose capital is a letter.
		return r
	}
	return unicode.ToLower(unicode.ToUpper(r))
}

const dotAbove = '\u0307'

// plainMarks refuses the combining marks that nobody can see or tell apart:
// one at the front (it would sit on whatever is shown before the handle), the
// same mark twice, more than four on a letter, and a dot above a letter that
// has one, or had one taken away (admi̇n). UTS 39, section 5.4.
func plainMarks(key string) bool {
	var base, last rune
	marks := 0
	for _, r := range norm.NFD.String(key) {
		if base == 0 && unicode.Is(unicode.M, r) {
			return false
		}
		if !unicode.Is(unicode.Mn, r) {
			base, last, marks = r, 0, 0
			continue
		}
		marks++
		if r == last || marks > 4 || r == dotAbove && dotted(base) {
			return false
		}
		last = r
	}
	return true
}

func dotted(r rune) bool {
	return unicode.Is(unicode.Soft_Dotted, r) || r == 'ı' || r == 'ȷ'
}
