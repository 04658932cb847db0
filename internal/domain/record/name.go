package record

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Bounds of names and texts.
const (
	MaxKey       = 500 // bytes of an item key
	maxText      = 200 // bytes of an operation id, a fence key, a batch id, a producer
	maxSections  = 16  // a profile
	maxFenceStep = 1<<53 - 1
)

var (
	collectionName = regexp.MustCompile(`^[a-z0-9][a-z0-9._:-]{0,199}$`)
	sectionName    = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

	errCollectionName = domain.Invalid("collection_name_invalid",
		"A collection's name has 1 to 200 of a-z, 0-9, '.', '_', '-' and ':', and begins with a letter or a digit. Capital letters are folded.")
	errKey = domain.Invalid("item_key_invalid",
		"An item key has 1 to 500 bytes of UTF-8 without NUL, and is neither '.' nor '..'.")
	errNoCollection = domain.NotFound("collection_not_found", "There is no collection of this name.")
	errNoRecord     = domain.NotFound("record_not_found", "There is no record under this key.")
)

// FoldName gives a collection's name in its one form: lower case. Other letters
// than A to Z stay, and no name may have them.
func FoldName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + ('a' - 'A')
		}
		return r
	}, name)
}

// numberOf places a collection: all that are named after a world, "w" or "w:…",
// are in the world's number.
func numberOf(name string) domain.Number {
	placed, _, _ := strings.Cut(name, ":")
	return domain.NumberOf(placed)
}

// worldOf is the world that a collection of the name may be bound to.
func worldOf(name string) string {
	world, _, _ := strings.Cut(name, ":")
	return world
}

// ref names a collection and the number where everything of it stands.
type ref struct {
	number domain.Number
	name   string
}

func refOf(name string) (ref, error) {
	name = FoldName(name)
	if !collectionName.MatchString(name) {
		return ref{}, errCollectionName
	}
	return ref{numberOf(name), name}, nil
}

// validKey tells an item key. It is exact, and never folded.
func validKey(key string) bool {
	return key != "" && len(key) <= MaxKey && utf8.ValidString(key) && !strings.ContainsRune(key, 0) && key != "." && key != ".."
}

// validText tells an id or a name of a caller's own: printable ASCII.
func validText(text string) bool {
	if text == "" || len(text) > maxText {
		return false
	}
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
