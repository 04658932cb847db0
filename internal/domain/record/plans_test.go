package record

import (
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// searches are the statements that serve, and by which columns they must search an
// index of each table: the last of its key that they know.
var searches = map[string]map[string]string{
	sqlReadCollection:  {"collections": "collection"},
	sqlListCollections: {"collections": "tenant_id"},
	sqlLockCollections: {"collections": "collection"},
	sqlLookAtThem:      {"collections": "collection"},
	sqlMoveCollection:  {"collections": "collection"},
	sqlDemandMove:      {"collections": "collection"},
	sqlReadRecords:     {"collections": "collection", "records": "item_key", "sections_in_sql": "item_key", "sections_in_store": "item_key"},
	sqlListRecords:     {"collections": "collection", "records": "item_key", "sections_in_sql": "item_key", "sections_in_store": "item_key"},
	sqlReadBody:        {"collections": "collection", "records": "item_key", "sections_in_sql": "section", "sections_in_store": "section", "section_chunks": "section"},
	sqlReadChanges:     {"collections": "collection", "export_entries": "export_sequence", "records": "item_key", "sections_in_sql": "item_key", "sections_in_store": "item_key", "section_chunks": "section"},
	sqlKnownBodies:     {"collections": "collection", "sections_in_store": "digest"},
	sqlReadClaims:      {"collections": "collection", "item_claims": "item_key"},
	sqlReadReceipts:    {"collections": "collection", "receipts": "operation_id"},
	sqlReadFences:      {"collections": "collection", "fences": "fence_key"},
	sqlReadBatches:     {"collections": "collection", "batches": "batch_id", "batch_items": "batch_id", "item_claims": "item_key"},
	sqlRemoveChunks:    {"section_chunks": "section"},
	sqlRemoveInSQL:     {"sections_in_sql": "section"},
	sqlRemoveExport:    {"export_entries": "export_sequence"},
	sqlRemoveInStore:   {"sections_in_store": "section"},
	sqlRemoveClaim:     {"item_claims": "item_key"},
	sqlRowsInSQL:       {"collections": "collection", "sections_in_sql": "collection_id"},
	sqlRowsInStore:     {"collections": "collection", "sections_in_store": "item_key"},
	sqlCapturedInSQL:   {"collections": "collection", "records": "item_key", "sections_in_sql": "item_key", "export_entries": "export_sequence"},
	sqlCaptureInSQL:    {"collections": "collection", "records": "item_key", "sections_in_sql": "item_key", "export_entries": "export_sequence", "section_chunks": "section"},
	sqlCapturedInStore: {"collections": "collection", "records": "item_key", "sections_in_store": "item_key", "export_entries": "export_sequence"},
	sqlRemoveMoved:     {"sections_in_sql": "section"},
	sqlDemandMoved:     {"sections_in_sql": "section"},
	sqlDemandMovedBack: {"sections_in_store": "section"},
	sqlTakeRows:        {"collections": "collection"},
	sqlSwitchFormat:    {"collections": "collection"},
	sqlSeal:            {"collections": "collection"},
	sqlStoredSections:  {"sections_in_store": `ROW\(item_key, section\)`},
	sqlCountStored:     {"sections_in_store": "collection_id"},
	sqlStillStored:     {"sections_in_store": "section"},
	sqlDemandOneFormat: {"sections_in_sql": "collection_id", "sections_in_store": "collection_id"},
}

// TestPlans_AreOnTheirKeys holds the statements that serve to their indexes: on
// empty tables, with rows that nobody has analyzed, and with analyzed ones.
func TestPlans_AreOnTheirKeys(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	db := k.router.Database(numberOf("orders"))
	check := func(when string) {
		for sql, tables := range searches {
			plan := testkit.GenericPlan(t, db.Pool, sql)
			for table, column := range tables {
				if !searched(plan, table, column) {
					t.Errorf("%s:%s\nis planned as\n%s\nwant an index of %s searched by %s", when, sql, plan, table, column)
				}
			}
			// A condition of a join is looked at when what it joins has been read: bodies, say.
			for _, never := range []string{"Seq Scan", "Materialize", "Hash Join", "Join Filter"} {
				if strings.Contains(plan, never) {
					t.Errorf("%s:%s\nis planned as\n%s\nwant no %s", when, sql, plan, never)
				}
			}
		}
	}
	check("on empty tables")
	for _, name := range []string{"orders", "orders:eu", "orders:us"} {
		k.collection(t, name)
	}
	rows, analyze, found := strings.Cut(fill, "ANALYZE")
	if _, err := k.admin[db.Name].Exec(t.Context(), rows); err != nil || !found {
		t.Fatal(err)
	}
	check("with some rows")
	if _, err := k.admin[db.Name].Exec(t.Context(), "ANALYZE"+analyze); err != nil {
		t.Fatal(err)
	}
	check("with some rows, analyzed")
}

var (
	scanOf    = regexp.MustCompile(`(?:Index|Bitmap Heap)(?: Only)? Scan (?:using \S+ )?on (\w+)`)
	condition = regexp.MustCompile(`Index Cond: (.*)`)
)

// searched tells that every scan of a table in a plan is by an index, with the
// column among its conditions.
func searched(plan, table, column string) bool {
	has := regexp.MustCompile(`[ (."]` + column + `"? (=|>|<=) `)
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
