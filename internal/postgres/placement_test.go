package postgres_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// numbersOf are the numbers that a placement puts on each database, as a
// placement writes them.
func numbersOf(p postgres.Placement) map[string]string {
	numbers := map[string][]domain.Number{}
	for n, name := range p {
		numbers[name] = append(numbers[name], domain.Number(n))
	}
	written := map[string]string{}
	for name, some := range numbers {
		written[name] = postgres.FormatNumbers(some)
	}
	return written
}

func TestParsePlacement(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c"}
	cases := map[string]map[string]string{
		"a=0-63":                       {"a": "0-63"},
		"a=0-31 b=32-63":               {"a": "0-31", "b": "32-63"},
		" b=32-63\n\ta=0-31 ":          {"a": "0-31", "b": "32-63"},
		"a=0-30 b=32-63 a=31":          {"a": "0-31", "b": "32-63"},
		"c=63,0 a=1-20,30-62 b=21-29":  {"a": "1-20,30-62", "b": "21-29", "c": "0,63"},
		"a=0,1,2,3-60 b=61-61 c=62-63": {"a": "0-60", "b": "61", "c": "62-63"},
	}
	for text, want := range cases {
		p, err := postgres.ParsePlacement(text, names)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, numbersOf(p)); diff != "" {
			t.Errorf("%q (-want +got)\n%s", text, diff)
		}
	}
}

func TestParsePlacement_TellsEveryFault(t *testing.T) {
	t.Parallel()
	cases := []struct {
		text string
		want []string
	}{
		{"", []string{"placed nowhere: 0, 1, 2"}},
		{"a=0-62", []string{"placed nowhere: 63"}},
		{"a=0-63 b=7", []string{"number 7 is placed twice (a, b)"}},
		{"a=0-63,7", []string{"number 7 is placed twice (a, a)"}},
		{"a=0-63 x=7", []string{`"x" is not one of the data databases (a, b)`}},
		{"a=0-63 b", []string{`"b" is not NAME=NUMBERS`}},
		{"a=0-63 b=", []string{`"" is not a number or a range within 0-63`}},
		{"a=0-64", []string{`"0-64" is not`, "placed nowhere"}},
		{"a=0-63,64", []string{`"64" is not`}},
		{"a=0-63,-1", []string{`"-1" is not`}},
		{"a=0-63,5-3", []string{`"5-3" is not`}},
		{"a=0-63,1-2-3", []string{`"1-2-3" is not`}},
		{"a=0-63,0x1", []string{`"0x1" is not`}},
		{"a=0-63,+1", []string{`"+1" is not`}},
		{"a=0-30 b=30-40 x=1 b=7z c", []string{
			"number 30 is placed twice (a, b)", `"x" is not one`, `"7z" is not`, `"c" is not NAME=NUMBERS`, "placed nowhere: 41, 42",
		}},
	}
	for _, c := range cases {
		p, err := postgres.ParsePlacement(c.text, []string{"a", "b"})
		if err == nil || p != (postgres.Placement{}) {
			t.Errorf("%q is read as %v, %v; want an error alone", c.text, numbersOf(p), err)
			continue
		}
		for _, fault := range c.want {
			if !strings.Contains(err.Error(), fault) {
				t.Errorf("%q: the error %q doesn't say %q", c.text, err, fault)
			}
		}
	}
}

func TestPlacement_IsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c", "d"}
	rapid.Check(t, func(t *rapid.T) {
		var want postgres.Placement
		for n := range want {
			want[n] = rapid.SampledFrom(names).Draw(t, "database")
		}
		var entries []string
		for name, numbers := range numbersOf(want) {
			entries = append(entries, name+"="+numbers)
		}
		text := strings.Join(entries, " ")
		got, err := postgres.ParsePlacement(text, names)
		if err != nil || got != want {
			t.Errorf("%q is read as %v, %v", text, numbersOf(got), err)
		}
	})
}

func TestSpread_GivesEveryDatabaseAnEqualRun(t *testing.T) {
	t.Parallel()
	cases := []struct {
		names []string
		want  map[string]string
	}{
		{[]string{"a"}, map[string]string{"a": "0-63"}},
		{[]string{"b", "a"}, map[string]string{"b": "0-31", "a": "32-63"}},
		{[]string{"a", "b", "c"}, map[string]string{"a": "0-21", "b": "22-42", "c": "43-63"}},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, numbersOf(postgres.Spread(c.names...))); diff != "" {
			t.Errorf("over %v (-want +got)\n%s", c.names, diff)
		}
	}
	if postgres.Spread("a") != postgres.PlaceAll("a") {
		t.Error("spread over one database is not all on it")
	}
	for databases := 1; databases <= domain.Numbers; databases++ {
		var names []string
		for i := range databases {
			names = append(names, strings.Repeat("x", i+1))
		}
		spread := postgres.Spread(names...)
		counts := map[string]int{}
		for _, name := range spread {
			counts[name]++
		}
		for _, name := range names {
			if share := domain.Numbers / databases; counts[name] != share && counts[name] != share+1 {
				t.Errorf("over %d databases one gets %d numbers", databases, counts[name])
			}
		}
		if runs := slices.Compact(spread[:]); len(runs) != databases {
			t.Errorf("over %d databases the numbers lie in %d runs", databases, len(runs))
		}
	}
}
