package migration

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// looks are the statements that look at what a migration is about, and by which
// columns they must search an index of each table: the last of its key that they
// know.
var looks = map[string]map[string]string{
	sqlCountInSQL:                {"sections_in_sql": "item_key", "section_chunks": "section", "export_entries": "export_sequence"},
	sqlCountInStore:              {"sections_in_store": "item_key", "export_entries": "export_sequence"},
	sqlCheckpoints:               {"migration_checkpoints": "tenant_id"},
	sqlLeftBySQL:                 {"migration_checkpoints": "tenant_id", "sections_in_sql": "collection_id"},
	sqlLeftByStore:               {"migration_checkpoints": "tenant_id", "sections_in_store": "collection_id"},
	sqlDeferredBySQL:             {"migration_checkpoints": "tenant_id", "migration_deferred": "collection_id", "sections_in_sql": "section"},
	sqlDeferredByStore:           {"migration_checkpoints": "tenant_id", "migration_deferred": "collection_id", "sections_in_store": "section"},
	sqlDeferredInSQL:             {"migration_checkpoints": "tenant_id", "migration_deferred": "collection_id", "sections_in_sql": "section"},
	sqlDeferredInStore:           {"migration_checkpoints": "tenant_id", "migration_deferred": "collection_id", "sections_in_store": "section"},
	sqlMovableInSQL:              {"sections_in_sql": "collection_id", "records": "item_key", "migration_deferred": "item_key"},
	sqlMovableInStore:            {"sections_in_store": "collection_id", "records": "item_key", "migration_deferred": "item_key"},
	sqlLockCollectionsCheckpoint: {"migration_checkpoints": "number"},
	sqlRetryInSQL:                {"migration_deferred": "section", "sections_in_sql": "section"},
	sqlRetryInStore:              {"migration_deferred": "section", "sections_in_store": "section"},
}

// looksAtControl are those of the control database.
var looksAtControl = map[string]map[string]string{
	sqlOpenRun:       {"migration_runs": "migration_id"},
	sqlPlanCaps:      {"migration_plans": "plan_hash"},
	sqlPace:          {"migration_samples": "at"},
	sqlForgetSamples: {"migration_samples": "at"},
}

// Of a collection that is empty, of a small one and of a large one, the statements
// go by keys: on empty tables, with rows that nobody has analyzed, and with analyzed
// ones.
func TestPlans_OfLooksAreOnTheirKeys(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	db := m.api.router.Database(record.NumberOf("orders"))
	control := m.in.Admin(t, "control")
	check := func(when string) {
		demandKeys(t, when, db.Pool, looks)
		demandKeys(t, when, m.api.router.Control(), looksAtControl)
	}
	check("on empty tables")
	for name, records := range map[string]int{"orders": 0, "orders:eu": 100, "orders:us": 10_000} {
		c := m.fill(t, name, 0)
		m.plant(t, c, records)
		if err := m.api.accept(t.Context(), &m.plan, c); err != nil {
			t.Fatal(err)
		}
	}
	m.every(t, `INSERT INTO sections_in_store SELECT s.tenant_id, s.number, s.collection_id, s.item_key, 'decision-packets', true, sha256(''), 0, 0, 'p', 1, now()
		FROM sections_in_sql s WHERE s.section = 'items'`)
	m.every(t, `INSERT INTO section_chunks SELECT s.tenant_id, s.number, s.collection_id, s.item_key, s.section, 0, 'x' FROM sections_in_sql s`)
	m.every(t, `INSERT INTO migration_deferred SELECT s.tenant_id, s.number, s.collection_id, s.item_key, s.section, 'digest_mismatch', 1, false, now(), now()
		FROM sections_in_sql s`)
	for _, sql := range []string{
		`INSERT INTO migration_samples SELECT gen_random_uuid(), gen_random_uuid(), now() - n * interval '1 second', n, n FROM generate_series(1, 20) n`,
		`INSERT INTO migration_samples SELECT t.tenant_id, t.migration_id, now() - n * interval '1 second', n, n FROM (SELECT * FROM migration_samples LIMIT 3) t, generate_series(100, 2000) n`,
		`INSERT INTO migration_runs SELECT s.tenant_id, s.migration_id, gen_random_uuid(), 'b', 'a', now(), now(), 0, 0 FROM (SELECT DISTINCT tenant_id, migration_id FROM migration_samples) s`,
	} {
		if _, err := control.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	check("with some rows")
	m.every(t, `ANALYZE`)
	if _, err := control.Exec(t.Context(), `ANALYZE`); err != nil {
		t.Fatal(err)
	}
	check("with some rows, analyzed")
}

func demandKeys(t *testing.T, when string, pool *pgxpool.Pool, statements map[string]map[string]string) {
	t.Helper()
	for sql, tables := range statements {
		plan := testkit.GenericPlan(t, pool, sql)
		for _, table := range slices.Sorted(maps.Keys(tables)) {
			if !searched(plan, table, tables[table]) {
				t.Errorf("%s:%s\nis planned as\n%s\nwant an index of %s searched by %s", when, sql, plan, table, tables[table])
			}
		}
		for _, never := range []string{"Seq Scan", "Hash Join", "Merge Join", "Join Filter"} {
			if strings.Contains(plan, never) {
				t.Errorf("%s:%s\nis planned as\n%s\nwant no %s", when, sql, plan, never)
			}
		}
	}
}

var (
	scanOf    = regexp.MustCompile(`(?:^|-> +)(?:Index|Bitmap Heap)(?: Only)? Scan (?:using \S+ )?on (\w+)`)
	condition = regexp.MustCompile(`Index Cond: (.*)`)
)

// searched tells that every scan of a table in a plan is by an index, with the
// column among its conditions, alone or first in a row of columns.
func searched(plan, table, column string) bool {
	has := regexp.MustCompile(`[ (."]` + column + `"?(?:, \w+\))? (=|>|<|<=) `)
	scans, good, within := 0, 0, false
	for line := range strings.Lines(plan) {
		if scan := scanOf.FindStringSubmatch(line); scan != nil {
			if within = scan[1] == table; within {
				scans++
			}
		}
		if cond := condition.FindStringSubmatch(line); cond != nil && within {
			if within = false; has.MatchString(cond[1]) {
				good++
			}
		}
	}
	return scans > 0 && scans == good
}
