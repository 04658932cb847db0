package architecture

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// check holds one statement to all rules.
func (c catalogue) check(sql string) []finding {
	r := &reader{catalogue: c, ctes: map[string]bool{}}
	kind, fields, err := oneStatement(sql)
	if err != nil {
		return []finding{{"one statement", err.Error()}}
	}
	switch kind {
	case "SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt":
		r.query(kind, fields, nil, newEqualities())
	case "VariableSetStmt":
		if fields["is_local"] != true {
			r.report("session state", "SET without LOCAL")
		}
	case "ListenStmt":
		r.report("session state", "LISTEN is the session's")
	}
	r.functions(node{kind: fields})
	return r.found
}

// TestCitus_EveryStatementKeepsTheRules: see docs/citus.md. What breaks one is in
// the table of exceptions, with the reason, and is taken out when it no longer does.
func TestCitus_EveryStatementKeepsTheRules(t *testing.T) {
	t.Parallel()
	c := migratedCatalogue(t)
	used, read := map[exception]bool{}, 0
	for _, s := range statements(t) {
		if beside[filepath.Dir(s.place)] != "" || strings.Contains(s.text, "%s") || strings.Contains(s.text, "%[1]s") {
			continue // a format for names: of roles, of goose's table, of a table that is compared
		}
		read++
		for _, f := range c.check(s.text) {
			e := exception{s.name, f.rule}
			if exceptions[e] == "" {
				t.Errorf("%s: %s breaks %q: %s", s.place, s.name, f.rule, f.what)
			}
			used[e] = true
		}
	}
	if read < 300 {
		t.Errorf("only %d statements were read", read)
	}
	for e, reason := range exceptions {
		if !used[e] {
			t.Errorf("%v needs no exception any more (%s)", e, reason)
		}
	}
}

func migratedCatalogue(t *testing.T) catalogue {
	t.Helper()
	c := readCatalogue(t, testkit.Databases(t, 1).Admin(t, "data1"), readDecisions(t, filepath.Join(citusFolder, "data.sql")))
	if len(c.tables) < 30 || c.volatility["clock_timestamp"] != "v" {
		t.Fatalf("the catalogue is not a data database's: %d tables", len(c.tables))
	}
	return c
}

// Each rule has to find what breaks it, and to leave alone what only looks like it.
func TestCitus_TheRulesFindWhatBreaksThem(t *testing.T) {
	t.Parallel()
	c := migratedCatalogue(t)
	for _, sample := range citusSamples {
		var rules []string
		for _, f := range c.check(sample.sql) {
			rules = append(rules, f.rule)
		}
		if sample.breaks == "" && len(rules) > 0 || sample.breaks != "" && !slices.Contains(rules, sample.breaks) {
			t.Errorf("%s\n  breaks %q, want %q", sample.sql, rules, sample.breaks)
		}
	}
}
