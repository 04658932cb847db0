package record

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// fillForPlans makes rows of many tenants, in every number of a database as if it
// had all.
func (k *keeper) fillForPlans(t *testing.T) {
	t.Helper()
	const each = ` FROM generate_series(0, 63) n, generate_series(1, 60) i`
	for _, sql := range []string{
		`INSERT INTO collections (tenant_id, number, collection, collection_id, record_format, profile, export_sequence, row_identity, claim_generation, token, created_at)
		 SELECT gen_random_uuid(), n, 'c', gen_random_uuid(), 1 + i % 2, '{}', 0, 0, 0, gen_random_uuid(), now()` + each,
		`INSERT INTO tenant_gates (tenant_id, state, layout, identity_state, revision) SELECT tenant_id, 'open', 'l', 'open', 0 FROM collections`,
		`INSERT INTO records SELECT tenant_id, number, collection_id, 'k' || i, 1, true, now(), now() FROM collections, generate_series(1, 5) i`,
		`INSERT INTO records SELECT tenant_id, number, collection_id, 'l' || i, 1, true, now(), now() FROM (SELECT * FROM collections LIMIT 20) c, generate_series(1, 2000) i`,
		`INSERT INTO sections_in_sql SELECT tenant_id, number, collection_id, item_key, 'items', 1, false, NULL, 0, NULL, 0, 'p', 1, now() FROM records`,
		`INSERT INTO sections_in_store SELECT tenant_id, number, collection_id, item_key, 'plans', true, sha256(item_key::bytea), 1, 0, 'p', 1, now() FROM records`,
		`INSERT INTO export_entries SELECT tenant_id, number, collection_id, 'items', 10 + row_number() OVER (), item_key FROM records`,
		`INSERT INTO receipts SELECT tenant_id, number, collection_id, 'o' || i, sha256(''), '{}', now() FROM collections, generate_series(1, 3) i`,
		`INSERT INTO batches SELECT tenant_id, number, collection_id, 'b' || i, 'o', gen_random_uuid(), 1, 5, now(), now(), NULL FROM collections, generate_series(1, 3) i`,
		`INSERT INTO batch_items SELECT tenant_id, number, collection_id, batch_id, 'k' || i, 1, now(), NULL FROM batches, generate_series(1, 3) i`,
		`INSERT INTO item_claims SELECT tenant_id, number, collection_id, item_key, 'b', 1, now() FROM records WHERE item_key LIKE 'k%'`,
		`INSERT INTO snapshots (tenant_id, number, collection_id, snapshot_id, collection, run, state, traceparent, requested_at, ended_at, due_at, walking,
		        after_key, after_section, began_at_sequence, after_sequence, sequence, parts, lines, length, attempts)
		 SELECT tenant_id, number, collection_id, gen_random_uuid(), collection, gen_random_uuid(), CASE i WHEN 1 THEN 'running' ELSE 'complete' END, '', now(),
		        CASE i WHEN 1 THEN NULL ELSE now() END, now(), true, '', '', 0, 0, 0, 3, 3, 3, 0 FROM collections, generate_series(1, 3) i`,
		`INSERT INTO snapshot_parts SELECT tenant_id, number, collection_id, snapshot_id, i, sha256(''), 1, 1 FROM snapshots, generate_series(1, 3) i`,
		`INSERT INTO migration_checkpoints SELECT tenant_id, number, collection_id, collection, gen_random_uuid(), 'rehydrate', sha256(''), 'b', gen_random_uuid(), false, 1,
		        0, 0, '', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, now(), now(), now(), now() FROM collections`,
		`INSERT INTO object_counts SELECT tenant_id, number, collection_id, number % 2, 0, now() FROM collections`,
	} {
		if _, err := k.admin["data1"].Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// What the upkeep asks and changes of one collection is on the collection's keys,
// and the functions by which the worker looks into all tenants are on the indexes
// that are made for them: on empty tables, with rows that nobody has analyzed, and
// with rows that somebody has.
func TestPlans_OfTheUpkeepAreOnTheirKeysAndIndexes(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	worker := k.upkeep(t, Options{}).router.Named("data1").Pool
	serving := k.router.Named("data1").Pool
	statements := map[string]string{ // and the last column that an index must be searched by
		sqlWalk:             "item_key",
		sqlReadChanges:      "export_sequence",
		sqlReadSnapshot:     "snapshot_id",
		sqlMoveSnapshot:     "snapshot_id",
		sqlRetireComplete:   "collection_id",
		sqlRetireFailed:     "collection_id",
		sqlRemoveParts:      "ordinal",
		sqlRemoveSnapshot:   "snapshot_id",
		sqlRemoveReceipts:   "operation_id",
		sqlRemoveBatchItems: "batch_id",
		sqlRemoveBatches:    "batch_id",
		sqlRemoveOldClaims:  "item_key",
		sqlDrawToken:        "collection_id",
		sqlReferencedBodies: "digest",
		sqlReferencedParts:  "snapshot_id",
		sqlListSnapshots:    "collection_id",
		sqlReadParts:        "ordinal",
	}
	scans := map[string][]string{
		"upkeep_snapshots":    {"snapshots_due"},
		"upkeep_receipts":     {"receipts_by_age"},
		"upkeep_batches":      {"batches_by_age"},
		"upkeep_claims":       {"item_claims_by_expiry"},
		"upkeep_collections":  {"collections_by_id", "snapshots_pkey", "object_counts_pkey", "migration_checkpoints_pkey"},
		"upkeep_unreferenced": {"object_counts_unreferenced"},
	}
	k.expectEveryScanHeld(t, scans)
	check := func(when string, withScans bool) {
		for sql, column := range statements {
			pool := worker
			if sql == sqlReadParts || sql == sqlListSnapshots {
				pool = serving
			}
			if plan := testkit.GenericPlan(t, pool, sql); !testkit.OnIndex(plan, column) {
				t.Errorf("%s:%s\nis planned as\n%s\nwant an index searched by %s", when, sql, plan, column)
			}
		}
		for function, indexes := range scans {
			plan := testkit.FunctionPlan(t, k.admin["data1"], function)
			for _, index := range indexes {
				if withScans && !strings.Contains(plan, index+" ") {
					t.Errorf("%s: %s is planned as\n%s\nwant it on %s", when, function, plan, index)
				}
			}
		}
	}
	check("on empty tables", false)
	k.fillForPlans(t)
	check("with some rows", true)
	if _, err := k.admin["data1"].Exec(t.Context(), `ANALYZE`); err != nil {
		t.Fatal(err)
	}
	check("with some rows, analyzed", true)
}

func (k *keeper) expectEveryScanHeld(t *testing.T, scans map[string][]string) {
	t.Helper()
	rows, _ := k.admin["data1"].Query(t.Context(), `
SELECT proname::text FROM pg_proc WHERE proowner = 'holdfast_scanner'::regrole AND prosecdef AND proname LIKE 'upkeep\_%'`)
	named, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(named) != len(scans) {
		t.Fatalf("there are %q, %v", named, err)
	}
	for _, function := range named {
		if len(scans[function]) == 0 {
			t.Errorf("%s is held to no index", function)
		}
	}
}

// The API's role looks into no other tenant.
func TestUpkeep_ScansAreTheWorkersAlone(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	if _, err := k.SnapshotsDue(t.Context(), "data1", 1); err == nil {
		t.Error("the API's role may look for snapshots of all tenants")
	}
	if _, err := k.Unreferenced(t.Context(), "data1"); err == nil {
		t.Error("the API's role may add up what all tenants have")
	}
	k.collection(t, "orders")
	if _, err := k.CountObjects(t.Context(), k.databaseOf("orders"), numberOf("orders")); err == nil {
		t.Error("the API's role may walk the collections of all tenants")
	}
	if _, err := k.upkeep(t, Options{}).SnapshotsDue(t.Context(), "elsewhere", 1); err == nil {
		t.Error("there is no such database, and it was looked at")
	}
	var none domain.Number
	if _, err := New(k.router, nil, nil, Options{}).CountObjects(t.Context(), "data1", none); domain.CodeOf(err) != "object_store_missing" {
		t.Errorf("without a store: %v", err)
	}
}
