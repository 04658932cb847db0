package record

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Profile says which sections a collection's records have. At most one primary
// of a record is live: writing one tombstones the others. A companion is live
// beside one of the primaries that it accompanies, and is tombstoned with it.
type Profile struct {
	Primaries  []string            `json:"primaries"`  // sorted, at least one
	Companions map[string][]string `json:"companions"` // by section: the primaries that it accompanies, sorted
}

// DefaultProfile is the canonical one.
func DefaultProfile() Profile {
	return Profile{
		Primaries: []string{"closed", "items"},
		Companions: map[string][]string{
			"plans":            {"items"},
			"decision-packets": {"closed", "items"},
		},
	}
}

// Sections are the names of all sections, sorted.
func (p Profile) Sections() []string {
	return slices.Sorted(slices.Values(slices.Concat(p.Primaries, slices.Collect(maps.Keys(p.Companions)))))
}

func (p Profile) has(section string) bool {
	_, companion := p.Companions[section]
	return companion || p.isPrimary(section)
}

func (p Profile) isPrimary(section string) bool { return slices.Contains(p.Primaries, section) }

func (p Profile) equal(other Profile) bool {
	return slices.Equal(p.Primaries, other.Primaries) && maps.EqualFunc(p.Companions, other.Companions, slices.Equal)
}

func errProfile(detail, pointer string) error {
	return domain.Invalid("profile_invalid", detail).At(pointer)
}

// checked gives the profile with its lists sorted.
func (p Profile) checked() (Profile, error) {
	checked := Profile{Primaries: slices.Sorted(slices.Values(p.Primaries)), Companions: map[string][]string{}}
	switch n := len(p.Primaries) + len(p.Companions); {
	case len(p.Primaries) == 0:
		return Profile{}, errProfile("A profile has at least one primary.", "/profile/primaries")
	case n > maxSections:
		return Profile{}, errProfile("A profile has at most 16 sections.", "/profile")
	case len(slices.Compact(slices.Clone(checked.Primaries))) < len(p.Primaries):
		return Profile{}, errProfile("A primary is named twice.", "/profile/primaries")
	}
	for _, name := range checked.Primaries {
		if !sectionName.MatchString(name) {
			return Profile{}, errProfile("A section's name has 1 to 64 of a-z, 0-9, '.', '_' and '-', and begins with a letter or a digit.", "/profile/primaries")
		}
	}
	for name, beside := range p.Companions {
		beside = slices.Compact(slices.Sorted(slices.Values(beside)))
		switch {
		case !sectionName.MatchString(name):
			return Profile{}, errProfile("A section's name has 1 to 64 of a-z, 0-9, '.', '_' and '-', and begins with a letter or a digit.", "/profile/companions")
		case p.isPrimary(name):
			return Profile{}, errProfile("A section is a primary or a companion, not both.", "/profile/companions")
		case len(beside) == 0:
			return Profile{}, errProfile("A companion names at least one primary that it accompanies.", "/profile/companions")
		}
		for _, primary := range beside {
			if !p.isPrimary(primary) {
				return Profile{}, errProfile("A companion accompanies a section that is no primary.", "/profile/companions")
			}
		}
		checked.Companions[name] = beside
	}
	return checked, nil
}

// text is the profile as it is kept: its lists are sorted, and encoding/json
// sorts its map.
func (p Profile) text() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // lists and maps of strings always marshal
	}
	return string(text)
}

func parseProfile(text string) (p Profile, err error) {
	err = json.Unmarshal([]byte(text), &p)
	return p, err
}
