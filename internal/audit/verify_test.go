package audit_test

import (
	"slices"
	"testing"
)

func TestVerify_SaysHowALineIsOutOfPlace(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.acts(t, 3)
	lines := in.export(t)
	for name, c := range map[string]struct {
		lines    []string
		sequence int64
		detail   string
	}{
		"twice":           {slices.Insert(slices.Clone(lines), 5, lines[4]), 5, "it comes twice"},
		"the first twice": {slices.Insert(slices.Clone(lines), 1, lines[0]), 1, "it comes twice"},
		"again later":     {append(slices.Clone(lines), lines[2]), 3, "it comes again, or out of order: it stands behind 6"},
		"missing":         {slices.Delete(slices.Clone(lines), 2, 3), 3, "it is missing: the number 4 comes behind 2"},
		"no JSON":         {append(slices.Clone(lines), "{"), 7, "the line is not an entry: it isn't a whole JSON object with the members of one"},
	} {
		if v := verify(t, c.lines); v.Fault == nil || v.Fault.Sequence != c.sequence || v.Fault.Detail != c.detail {
			t.Errorf("%s: %v", name, v.Fault)
		}
	}
}
