package identity

import "unicode"

// sharedWriting are the scripts that are written together and so count as one:
// the augmented script sets of UTS 39, section 5.1, for Japanese, Korean and
// Chinese.
var sharedWriting = [][]*unicode.RangeTable{
	{unicode.Han, unicode.Hiragana, unicode.Katakana},
	{unicode.Han, unicode.Hangul},
	{unicode.Han, unicode.Bopomofo},
}

// oneScript tells whether s is written in a single script. Characters of the
// scripts Common and Inherited (digits, "-", most combining marks) go with
// any: Go's tables have no Script_Extensions to narrow that down.
func oneScript(s string) bool {
	var script *unicode.RangeTable
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Common, unicode.Inherited):
		case script == nil:
			script = scriptOf(r)
		case !unicode.Is(script, r):
			return sharedScript(s)
		}
	}
	return true
}

func sharedScript(s string) bool {
	for _, scripts := range sharedWriting {
		if writtenIn(s, scripts) {
			return true
		}
	}
	return false
}

func writtenIn(s string, scripts []*unicode.RangeTable) bool {
	for _, r := range s {
		if !unicode.In(r, unicode.Common, unicode.Inherited) && !unicode.In(r, scripts...) {
			return false
		}
	}
	return true
}

// scriptOf finds the one script that has r; an empty table for an unassigned
// rune, which then is of one script with nothing.
func scriptOf(r rune) *unicode.RangeTable {
	if unicode.Is(unicode.Latin, r) {
		return unicode.Latin // most are, and the walk below is long
	}
	for _, script := range unicode.Scripts {
		if unicode.Is(script, r) {
			return script
		}
	}
	return &unicode.RangeTable{}
}
