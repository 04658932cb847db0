package export

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Position is where an export stands: behind a key of a kind. The zero position is the
// beginning.
type Position struct {
	Number int      `json:"n"` // 0 for the control database, and otherwise a number and one
	Kind   int      `json:"k"` // the place in the list of kinds
	Key    []string `json:"a,omitempty"`
}

// Marshal gives the position as ParsePosition takes it.
func (p Position) Marshal() ([]byte, error) { return json.Marshal(p) }

// ParsePosition fails on what Marshal can't have given, by a build that had other kinds
// say.
func ParsePosition(text []byte) (p Position, err error) {
	if err := json.Unmarshal(text, &p); err != nil || !p.valid() {
		return Position{}, domain.Invalid("cursor_invalid", "The cursor is not one that this export gave. Begin again without it.").At("?cursor")
	}
	return p, nil
}

func (p Position) valid() bool {
	if p.Number < 0 || p.Number > domain.Numbers || p.Kind < 0 || p.Kind >= len(p.kinds()) {
		return false
	}
	return p.Key == nil || len(p.Key) == len(p.kind().first)
}

func (p Position) kinds() []kind {
	if p.Number == 0 {
		return controlKinds
	}
	return numberKinds
}

func (p Position) kind() kind { return p.kinds()[p.Kind] }

func (p Position) key() []string {
	if p.Key == nil {
		return p.kind().first
	}
	return p.Key
}

// next is the beginning of what comes behind a kind; false at the end of all.
func (p Position) next() (Position, bool) {
	if p.Kind+1 < len(p.kinds()) {
		return Position{Number: p.Number, Kind: p.Kind + 1}, true
	}
	return Position{Number: p.Number + 1}, p.Number < domain.Numbers
}
