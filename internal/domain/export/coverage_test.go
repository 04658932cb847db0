package export

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// leftOut are tables with rows of a tenant's that no line tells of, and why.
var leftOut = map[string]string{
	"claims":                "follow from accounts and devices, and serve to find them",
	"operations":            "a change under way: its outcome is in its record",
	"event_counters":        "the last event's sequence",
	"code_guesses":          "protects codes for ten minutes",
	"entry_ids":             "follow from the journal",
	"lease_epochs":          "follow from the journal",
	"append_rejections":     "are journaled within a minute",
	"lease_waiters":         "who waits in line just now",
	"world_heat":            "what was measured in the last minutes",
	"section_chunks":        "bodies, which are fetched by their digests",
	"export_entries":        "the sections' order, which their export_sequence tells",
	"item_claims":           "batch items tell the same",
	"snapshot_parts":        "what the records tell, once more",
	"object_counts":         "what the object store holds that nothing refers to",
	"migration_checkpoints": "how far a migration is",
	"migration_deferred":    "likewise",
	"migration_envelopes":   "plans tell the same",
	"migration_approvals":   "transitions tell of them",
	"migration_runs":        "likewise",
	"migration_samples":     "rates of the last hours",
	"tenant_usage":          "what was counted of all this",
}

// Every table that has a tenant's rows is told of by a kind of lines, or is named
// above: the tables that a purge deletes from are all there are.
func TestKinds_TellOfEveryTable(t *testing.T) {
	t.Parallel()
	in := testkit.Databases(t, 1)
	for database, sql := range map[string]string{"control": `SELECT purge_control_tables()`, "data1": `SELECT purge_tables()`} {
		kinds := numberKinds
		told := []string{}
		if database == "control" {
			kinds = controlKinds[1:] // the first is the tenant's own row, which no purge deletes
		}
		for _, k := range kinds {
			told = append(told, k.table)
		}
		rows, _ := in.Admin(t, database).Query(t.Context(), sql)
		tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range tables {
			if _, left := leftOut[table]; left == slices.Contains(told, table) {
				t.Errorf("%s.%s: is it told of, or left out?", database, table)
			}
		}
		for _, table := range told {
			if !slices.Contains(tables, table) {
				t.Errorf("%s.%s is no table of a tenant's", database, table)
			}
		}
	}
}

func TestPosition_GoesOverEveryKindOfEveryNumber(t *testing.T) {
	t.Parallel()
	seen, more := 0, true
	for at := (Position{}); more; at, more = at.next() {
		text, err := at.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParsePosition(text)
		if diff := cmp.Diff(at, again); err != nil || diff != "" {
			t.Fatalf("%s: %v %s", text, err, diff)
		}
		seen++
	}
	if want := len(controlKinds) + 64*len(numberKinds); seen != want {
		t.Errorf("it goes over %d, want %d", seen, want)
	}
	for _, wrong := range []string{``, `{`, `{"n":65}`, `{"n":-1}`, `{"n":1,"k":99}`, `{"n":1,"k":0,"a":["a","b"]}`} {
		if p, err := ParsePosition([]byte(wrong)); err == nil {
			t.Errorf("%s is taken for %+v", wrong, p)
		}
	}
}
