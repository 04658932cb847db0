package identity

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// snapshot is the whole state of a tenant: every row, by its table and what names
// it.
type snapshot map[string]map[string]any

func (w *workshop) snapshot(t *testing.T) snapshot {
	t.Helper()
	all := snapshot{}
	for table, key := range cleanedTables {
		for _, text := range gather(t, w, `SELECT to_json(x)::text FROM `+table+` x WHERE tenant_id = $1`, pgx.RowTo[string], w.scope.Tenant) {
			var row map[string]any
			if err := json.Unmarshal([]byte(text), &row); err != nil {
				t.Fatal(err)
			}
			all[w.describe(table, key, row)] = row
		}
	}
	return all
}

// describe is what a row is called: its table, and its key in the names of the
// test's records. A code is nobody's to choose, so its claim goes by its owner.
func (w *workshop) describe(table, key string, row map[string]any) string {
	words := []string{table}
	for _, column := range strings.Fields(key) {
		value := fmt.Sprint(row[column])
		if name, known := w.names[value]; known {
			value = name
		}
		switch {
		case column == "key" && row["family"] == string(domain.FamilyDeviceCode):
			continue
		case column == "owner_id":
			value = "of " + value
		case column == "actor_kind":
			value = "by " + value
		}
		words = append(words, value)
	}
	return strings.Join(words, " ")
}

// since tells, in lines, what has come (+), gone (-) and changed (~, with the
// columns).
func (w *workshop) since(t *testing.T, before snapshot) (lines []string) {
	t.Helper()
	now := w.snapshot(t)
	for name, row := range before {
		after, stays := now[name]
		if !stays {
			lines = append(lines, "- "+name)
			continue
		}
		var changed []string
		for column := range row {
			if fmt.Sprint(row[column]) != fmt.Sprint(after[column]) {
				changed = append(changed, column)
			}
		}
		if len(changed) > 0 {
			slices.Sort(changed)
			lines = append(lines, "~ "+name+": "+strings.Join(changed, " "))
		}
	}
	for name := range now {
		if _, old := before[name]; !old {
			lines = append(lines, "+ "+name)
		}
	}
	slices.Sort(lines)
	return lines
}
