package architecture

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasilibs/go-pgquery/parser"
)

// TestCitus_MigrationsHaveOneStatementALine: goose cuts a file behind each line that
// ends with a semicolon, so two statements on a line would be sent as one text, in
// which Citus doesn't hand each on to its nodes.
func TestCitus_MigrationsHaveOneStatementALine(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../db/migrations/*/*.sql")
	if err != nil || len(files) < 20 {
		t.Fatalf("found %d migrations: %v", len(files), err)
	}
	for _, name := range files {
		sql, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		faults, err := migrationFaults(string(sql))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, fault := range faults {
			t.Errorf("%s: %s", name, fault)
		}
	}
}

func migrationFaults(sql string) (faults []string, err error) {
	text, err := parser.ParseToJSON(sql)
	if err != nil {
		return nil, err
	}
	var tree struct {
		Stmts []struct {
			Location int `json:"stmt_location"`
			Length   int `json:"stmt_len"`
		}
	}
	if err := json.Unmarshal([]byte(text), &tree); err != nil {
		return nil, err
	}
	for _, s := range tree.Stmts {
		where := fmt.Sprintf("line %d", 1+strings.Count(sql[:s.Location+s.Length], "\n"))
		rest := ""
		if s.Length > 0 {
			rest, _, _ = strings.Cut(sql[s.Location+s.Length+1:], "\n")
		}
		if code, _, _ := strings.Cut(rest, "--"); strings.TrimSpace(code) != "" {
			faults = append(faults, where+": another statement stands on the line")
		}
	}
	return faults, nil
}

func TestCitus_FaultsOfMigrationsAreFound(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]int{
		"CREATE TABLE a (b int);\nCREATE INDEX ON a (b); -- why\n":                             0,
		"CREATE TABLE a (b int); CREATE INDEX ON a (b);\n":                                     1,
		"CREATE TABLE a (\n  b int\n); DROP TABLE c;\nDROP TABLE d;\n":                         1,
		"CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; SELECT 2; END;\n": 0,
	} {
		faults, err := migrationFaults(sql)
		if err != nil || len(faults) != want {
			t.Errorf("%q: %q, %v; want %d", sql, faults, err, want)
		}
	}
}
