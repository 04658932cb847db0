package architecture

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// decision is what becomes of a table on Citus.
type decision string

const (
	byTenant decision = "distributed by tenant_id"
	local    decision = "a plain table of the coordinator"
)

var (
	distributes = regexp.MustCompile(`^SELECT create_distributed_table\('(\w+)', 'tenant_id'(?:, colocate_with => '(\w+)')?\);$`)
	staysLocal  = regexp.MustCompile(`^-- local: (\w+)$`)
)

// readDecisions reads a file of deploy/citus: a statement for each table that is
// distributed, all of them colocated with the first, and a comment for each that
// stays local.
func readDecisions(t *testing.T, path string) map[string]decision {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	decisions, err := decide(bufio.NewScanner(file))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return decisions
}

func decide(lines *bufio.Scanner) (map[string]decision, error) {
	decisions := map[string]decision{}
	first := ""
	for lines.Scan() {
		line := lines.Text()
		table, what := "", local
		if found := distributes.FindStringSubmatch(line); found != nil {
			table, what = found[1], byTenant
			if found[2] != first {
				return nil, fmt.Errorf("%s is colocated with %q, want %q", table, found[2], first)
			}
			if first == "" {
				first = table
			}
		} else if found := staysLocal.FindStringSubmatch(line); found != nil {
			table = found[1]
		} else if strings.Contains(line, "create_distributed_table") || strings.HasPrefix(line, "-- local:") {
			return nil, fmt.Errorf("can't read %q", line)
		} else {
			continue
		}
		if decisions[table] != "" {
			return nil, fmt.Errorf("%s is decided on twice", table)
		}
		decisions[table] = what
	}
	return decisions, lines.Err()
}

const citusFolder = "../../deploy/citus"

// TestCitus_EachTableIsDecidedOn finds a table of the migrations about which
// deploy/citus says nothing, and one that it names and that isn't there.
func TestCitus_EachTableIsDecidedOn(t *testing.T) {
	t.Parallel()
	in := testkit.Databases(t, 1)
	for database, file := range map[string]string{"control": "control.sql", "data1": "data.sql"} {
		decisions := readDecisions(t, filepath.Join(citusFolder, file))
		for table := range tablesOf(t, in.Admin(t, database)) {
			if decisions[table] == "" {
				t.Errorf("%s has %s, and deploy/citus/%s doesn't say what becomes of it", database, table, file)
			}
			delete(decisions, table)
		}
		for table := range decisions {
			t.Errorf("deploy/citus/%s names %s, which isn't there", file, table)
		}
	}
}

// tablesOf are a database's tables but goose's own, which stay where they are.
func tablesOf(t *testing.T, db *pgxpool.Pool) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	each(t, db, `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND relname NOT LIKE 'goose%'`,
		func(rows pgx.Rows) error {
			var table string
			err := rows.Scan(&table)
			all[table] = true
			return err
		})
	return all
}

func TestCitus_ADecisionThatCantBeReadIsRefused(t *testing.T) {
	t.Parallel()
	const first = "SELECT create_distributed_table('a', 'tenant_id');\n"
	for name, text := range map[string]string{
		"another column":       "SELECT create_distributed_table('a', 'number');",
		"not colocated":        first + "SELECT create_distributed_table('b', 'tenant_id');",
		"elsewhere":            first + "SELECT create_distributed_table('b', 'tenant_id', colocate_with => 'c');",
		"twice":                first + "-- local: a",
		"a list":               "-- local: a, b",
		"with a shard's count": "SELECT create_distributed_table('a', 'tenant_id', shard_count => 4);",
	} {
		if decisions, err := decide(bufio.NewScanner(strings.NewReader(text))); err == nil {
			t.Errorf("%s is read as %v", name, decisions)
		}
	}
}
