package record

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// A name that no collection may have is refused where one is made, and is of none
// elsewhere.
func TestCollections_HaveTheirForm(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	for _, name := range []string{"a", "7", "a.b_c-d:e::", strings.Repeat("A", 200)} {
		if made, created, err := k.CreateCollection(t.Context(), k.scope, NewCollection{Name: name}); err != nil || !created || made.Name != strings.ToLower(name) {
			t.Errorf("%s: %+v, %v", name, made, err)
		}
	}
	before := k.allCollections(t)
	for _, name := range []string{"", "-a", ":a", ".", "..", "a b", "a/b", "é", "\u212a", "a\x00", "a\n", "\xff", strings.Repeat("a", 201)} {
		_, _, err := k.CreateCollection(t.Context(), k.scope, NewCollection{Name: name})
		expectCode(t, err, domain.KindInvalid, "collection_name_invalid")
		_, err = k.Collection(t.Context(), k.scope, name)
		expectCode(t, err, domain.KindNotFound, "collection_not_found")
		p := items("a", "x")
		p.OperationID = "o"
		_, err = k.Publish(t.Context(), k.scope, name, nil, p)
		expectCode(t, err, domain.KindNotFound, "collection_not_found")
		_, err = k.Records(t.Context(), k.scope, name, Filter{}, "", 1)
		expectCode(t, err, domain.KindNotFound, "collection_not_found")
	}
	long := func(n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprint("s", i))
		}
		return names
	}
	for name, p := range map[string]Profile{
		"no primary":         {Companions: map[string][]string{}},
		"a primary twice":    {Primaries: []string{"a", "a"}},
		"a primary's name":   {Primaries: []string{"A"}},
		"no name":            {Primaries: []string{""}},
		"a long name":        {Primaries: []string{strings.Repeat("a", 65)}},
		"a name with NUL":    {Primaries: []string{"a\x00"}},
		"a companion's name": {Primaries: []string{"a"}, Companions: map[string][]string{"\xff": {"a"}}},
		"both":               {Primaries: []string{"a", "b"}, Companions: map[string][]string{"b": {"a"}}},
		"beside none":        {Primaries: []string{"a"}, Companions: map[string][]string{"b": {}}},
		"beside another":     {Primaries: []string{"a"}, Companions: map[string][]string{"b": {"a"}, "c": {"b"}}},
		"many":               {Primaries: long(17)},
	} {
		_, _, err := k.CreateCollection(t.Context(), k.scope, NewCollection{Name: "profiled", Profile: &p})
		if domain.CodeOf(err) != "profile_invalid" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if diff := cmp.Diff(before, k.allCollections(t)); diff != "" {
		t.Errorf("(-before +behind)\n%s", diff)
	}
	// The same again in another order is the same, and another profile is not.
	p := Profile{Primaries: []string{"b", "a"}, Companions: map[string][]string{"c": {"b", "a", "b"}}}
	same := Profile{Primaries: []string{"a", "b"}, Companions: map[string][]string{"c": {"a", "b"}}}
	if _, created, err := k.CreateCollection(t.Context(), k.scope, NewCollection{Name: "profiled", Profile: &p}); err != nil || !created {
		t.Error(err)
	}
	if again, created, err := k.CreateCollection(t.Context(), k.scope, NewCollection{Name: "profiled", Profile: &same}); err != nil || created || !again.Profile.equal(same) {
		t.Errorf("%+v, %v, %v", again, created, err)
	}
	_, _, err := k.CreateCollection(t.Context(), k.scope, NewCollection{Name: "profiled"})
	expectCode(t, err, domain.KindConflict, "collection_exists")
}

func (k *keeper) allCollections(t *testing.T) (names []string) {
	t.Helper()
	for after := ""; ; {
		page, err := k.Collections(t.Context(), k.scope, after, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page.Collections {
			names = append(names, c.Name)
		}
		if !page.More {
			return names
		}
		after = names[len(names)-1]
	}
}
