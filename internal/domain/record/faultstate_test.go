package record

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// state is all that the database has of a collection, in words, by what it is of.
// It leaves out times, and in which order independent decisions were made.
type state map[string]string

const sqlState = `
WITH c AS (SELECT * FROM collections WHERE tenant_id = $1 AND collection = $2),
mine AS (SELECT tenant_id, number, collection_id FROM c)
SELECT 'collection', format('format %s sequence %s rows %s claims %s', record_format, export_sequence, row_identity, claim_generation) FROM c
UNION ALL
SELECT 'record ' || item_key, format('revision %s live %s', revision, live) FROM records NATURAL JOIN mine
UNION ALL
SELECT 'section ' || item_key || ' ' || section, format('sql %s %s %s %s chunks %s', live, encode(digest, 'hex'), length, producer, chunks)
  FROM sections_in_sql NATURAL JOIN mine
UNION ALL
SELECT 'section ' || item_key || ' ' || section, format('store %s %s %s %s', live, encode(digest, 'hex'), length, producer)
  FROM sections_in_store NATURAL JOIN mine
UNION ALL
SELECT 'chunks ' || item_key || ' ' || section, format('%s of %s bytes', count(*), sum(octet_length(content)))
  FROM section_chunks NATURAL JOIN mine GROUP BY item_key, section
UNION ALL
SELECT 'export ' || item_key || ' ' || section, 'times ' || count(*) FROM export_entries NATURAL JOIN mine GROUP BY item_key, section
UNION ALL
SELECT 'receipt ' || operation_id, format('%s %s %s %s', encode(fingerprint, 'hex'), receipt #>> '{publication,outcome}', receipt #>> '{publication,revision}',
       jsonb_path_query_array(receipt::jsonb, '$.completion.items[*].outcome'))
  FROM receipts NATURAL JOIN mine
UNION ALL
SELECT 'fence ' || fence_key, format('%s by %s %s', fence_revision, item_key, encode(content, 'hex')) FROM fences NATURAL JOIN mine
UNION ALL
SELECT 'batch ' || batch_id, format('%s generation %s completed %s', owner, generation, completed_at IS NOT NULL) FROM batches NATURAL JOIN mine
UNION ALL
SELECT 'batched ' || item_key || ' ' || batch_id, format('generation %s outcome %s', generation, outcome) FROM batch_items NATURAL JOIN mine
UNION ALL
SELECT 'claim ' || item_key, format('%s generation %s', batch_id, generation) FROM item_claims NATURAL JOIN mine`

// stateOf reads a collection's state around everything.
func (k *keeper) stateOf(t testing.TB, collection string) state {
	t.Helper()
	rows, err := k.adminOf(collection).Query(t.Context(), sqlState, k.scope.Tenant, collection)
	if err != nil {
		t.Fatal(err)
	}
	s := state{}
	var what, of string
	if _, err := pgx.ForEachRow(rows, []any{&what, &of}, func() error { s[what] += of; return nil }); err != nil {
		t.Fatal(err)
	}
	return s
}

func (k *keeper) adminOf(collection string) *pgxpool.Pool {
	return k.admin[k.router.Database(numberOf(collection)).Name]
}

func (s state) equal(other state) bool { return maps.Equal(s, other) }

// differs tells what is in one and not in the other.
func (s state) differs(other state) string {
	var lines []string
	for _, what := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Keys(s)), slices.Collect(maps.Keys(other)))))) {
		if s[what] != other[what] {
			lines = append(lines, fmt.Sprintf("%s: %q, not %q", what, s[what], other[what]))
		}
	}
	return strings.Join(lines, "\n")
}

// byItem is what there is of each item, its operation "op-KEY" and its fence "KEY"
// included.
func (s state) byItem() map[string]string {
	items := map[string]string{}
	for _, what := range slices.Sorted(maps.Keys(s)) {
		words := strings.Split(what, " ")
		if len(words) == 1 {
			continue
		}
		items[strings.TrimPrefix(words[1], "op-")] += what + ": " + s[what] + "\n"
	}
	return items
}

// descriptors are the digests of all live sections.
func (k *keeper) descriptors(t testing.TB, collection string) []Digest {
	t.Helper()
	rows, err := k.adminOf(collection).Query(t.Context(), `
SELECT s.digest FROM (SELECT tenant_id, number, collection_id, digest FROM sections_in_sql WHERE live
                      UNION ALL SELECT tenant_id, number, collection_id, digest FROM sections_in_store WHERE live) s
 NATURAL JOIN collections c WHERE c.tenant_id = $1 AND c.collection = $2`, k.scope.Tenant, collection)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		t.Fatal(err)
	}
	var digests []Digest
	for _, digest := range all {
		digests = append(digests, Digest(digest))
	}
	return union(digests)
}

// objectsOf lists what the bucket has of the collection.
func (k *keeper) objectsOf(t testing.TB, collection string) (digests []Digest) {
	t.Helper()
	c, err := k.Collection(t.Context(), k.scope, collection)
	if err != nil {
		t.Fatal(err)
	}
	prefix := bodiesPrefix(k.scope.Tenant, c.ID)
	objects, more, err := testkit.OpenBodies(t, testkit.BodyStore(t)).List(t.Context(), prefix, "", 1000)
	if err != nil || more {
		t.Fatalf("list the objects: more %v, %v", more, err)
	}
	for _, o := range objects {
		var digest Digest
		if err := digest.UnmarshalText([]byte(strings.TrimPrefix(o.Key, prefix))); err != nil {
			t.Errorf("an object has the key %s", o.Key)
		}
		digests = append(digests, digest)
	}
	return digests
}

// union is all digests, each once, in their order.
func union(lists ...[]Digest) []Digest {
	all := slices.SortedFunc(slices.Values(slices.Concat(lists...)), func(a, b Digest) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(all)
}

// awaitSilence waits until no backend works for a process any more: what the dead
// have sent is done by then, or will never be.
func (k *keeper) awaitSilence(t testing.TB) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for name, admin := range k.admin {
		for working := 1; working > 0; {
			err := admin.QueryRow(t.Context(), `
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = 'holdfast_api' AND state <> 'idle'`).Scan(&working)
			if err != nil || time.Now().After(deadline) {
				t.Fatalf("%s: %d backends still work: %v", name, working, err)
			}
		}
	}
}
