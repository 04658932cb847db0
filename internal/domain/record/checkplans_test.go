package record

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// fill puts into every table so many rows of each collection on a database, and
// leaves them known to its planner. They need not be honest.
const fill = `
INSERT INTO records SELECT c.tenant_id, c.number, c.collection_id, 'key-' || n, 1, true, now(), now() FROM collections c, generate_series(1, 3000) n;
INSERT INTO sections_in_sql SELECT r.tenant_id, r.number, r.collection_id, r.item_key, s, substr(r.item_key, 5)::bigint, true, sha256(''), 0, '', 0, 'p', substr(r.item_key, 5)::bigint, now()
  FROM records r, unnest('{items,plans}'::text[]) s;
INSERT INTO sections_in_store SELECT r.tenant_id, r.number, r.collection_id, r.item_key, 'decision-packets', true, sha256(''), 0, 0, 'p', substr(r.item_key, 5)::bigint, now() FROM records r;
INSERT INTO section_chunks SELECT s.tenant_id, s.number, s.collection_id, s.item_key, s.section, 0, 'x' FROM sections_in_sql s;
INSERT INTO export_entries SELECT s.tenant_id, s.number, s.collection_id, s.section, s.export_sequence, s.item_key FROM sections_in_sql s;
INSERT INTO receipts SELECT r.tenant_id, r.number, r.collection_id, r.item_key, sha256(''), '{}', now() FROM records r;
INSERT INTO fences SELECT r.tenant_id, r.number, r.collection_id, r.item_key, 1, r.item_key, sha256(''), now() FROM records r;
INSERT INTO batches SELECT r.tenant_id, r.number, r.collection_id, r.item_key, 'o', r.collection_id, 1, 60, now(), now(), NULL FROM records r;
INSERT INTO batch_items SELECT r.tenant_id, r.number, r.collection_id, r.item_key, i, 1, now(), NULL FROM records r, unnest('{x,y}'::text[]) i;
INSERT INTO item_claims SELECT r.tenant_id, r.number, r.collection_id, r.item_key, r.item_key, 1, now() FROM records r;
ANALYZE`

// A page of a check is read by keys, however much there is.
func TestCheck_PlansAreOnTheirKeys(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	for _, name := range []string{"orders", "orders:eu", "orders:us"} {
		k.collection(t, name)
	}
	db := k.router.Database(numberOf("orders"))
	if _, err := k.admin[db.Name].Exec(t.Context(), fill); err != nil {
		t.Fatal(err)
	}
	for sql, column := range map[string]string{ // and the last column that an index must be searched by
		sqlCheckPlaces:      "tenant_id",
		sqlCheckCollections: "tenant_id",
		sqlCheckCollection:  "tenant_id",
		sqlCheckRecords:     "item_key",
		sqlCheckContents:    "section",
		sqlCheckStanding:    "item_key",
		sqlCheckExport:      "item_key",
		sqlCheckExportEnd:   "section",
		sqlCheckFences:      "fence_key",
		sqlCheckBatches:     "batch_id",
		sqlCheckBatchItems:  "batch_id",
		sqlCheckClaims:      "item_key",
		sqlCheckReceipts:    "operation_id",
		sqlCheckRevisions:   "item_key",
	} {
		plan := testkit.GenericPlan(t, db.Pool, sql)
		if !testkit.OnIndex(plan, column) {
			t.Errorf("%s\nis planned as\n%s\nwant an index searched by %s", sql, plan, column)
		}
		if sql == sqlCheckRecords && !testkit.OnIndex(plan, "row_identity") {
			t.Errorf("%s\nis planned as\n%s\nwant the index of rows by their identities", sql, plan)
		}
	}
}
