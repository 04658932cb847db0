package record

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
)

// unsound are statements that find what must not be, whatever happened. $1 is the
// tenant, $2 the collection.
var unsound = map[string]string{
	"a section of no record, or a record of no section": mine + `
SELECT coalesce(r.item_key, s.item_key) FROM r FULL JOIN (SELECT DISTINCT item_key FROM s) s ON s.item_key = r.item_key
 WHERE r.item_key IS NULL OR s.item_key IS NULL`,
	"a section in both places": mine + `
SELECT item_key || ' ' || section FROM s GROUP BY item_key, section HAVING count(*) > 1`,
	"a record that doesn't say whether it is live": mine + `
SELECT item_key FROM r WHERE live <> EXISTS (SELECT FROM s WHERE s.item_key = r.item_key AND s.live)`,
	"an export entry of no section, or a section of no entry": mine + `
(SELECT item_key || ' ' || section || ' ' || export_sequence FROM e EXCEPT ALL SELECT item_key || ' ' || section || ' ' || export_sequence FROM s)
UNION ALL
(SELECT item_key || ' ' || section || ' ' || export_sequence FROM s EXCEPT ALL SELECT item_key || ' ' || section || ' ' || export_sequence FROM e)`,
	"a change behind the collection's counter, or two at one place": mine + `
SELECT e.item_key FROM e, c WHERE e.export_sequence > c.export_sequence
UNION ALL SELECT min(item_key) FROM e GROUP BY export_sequence HAVING count(*) > 1`,
	"a row behind the collection's counter, or two of one identity": mine + `
SELECT b.item_key FROM sections_in_sql b NATURAL JOIN id JOIN c USING (collection_id) WHERE b.row_identity > c.row_identity
UNION ALL SELECT min(b.item_key) FROM sections_in_sql b NATURAL JOIN id GROUP BY b.row_identity HAVING count(*) > 1`,
	"chunks that are not what their section says": mine + `
SELECT coalesce(b.item_key, k.item_key)
  FROM (SELECT * FROM sections_in_sql NATURAL JOIN id WHERE chunks > 0) b
  FULL JOIN (SELECT item_key, section, count(*) AS chunks, max(ordinal) + 1 AS ordinals, sum(octet_length(content)) AS length
               FROM section_chunks NATURAL JOIN id GROUP BY item_key, section) k ON k.item_key = b.item_key AND k.section = b.section
 WHERE b.chunks IS DISTINCT FROM k.chunks OR b.chunks IS DISTINCT FROM k.ordinals OR b.length IS DISTINCT FROM k.length`,
	"a claim of no open batch": mine + `
SELECT i.item_key FROM item_claims i NATURAL JOIN id
 WHERE NOT EXISTS (SELECT FROM batch_items b JOIN batches o USING (tenant_id, number, collection_id, batch_id)
                    WHERE tenant_id = i.tenant_id AND number = i.number AND collection_id = i.collection_id AND batch_id = i.batch_id
                      AND b.item_key = i.item_key AND b.generation = i.generation AND b.outcome IS NULL AND o.completed_at IS NULL)`,
}

// mine are a collection's rows.
const mine = `
WITH c AS (SELECT * FROM collections WHERE tenant_id = $1 AND collection = $2),
id AS (SELECT tenant_id, number, collection_id FROM c),
r AS (SELECT * FROM records NATURAL JOIN id),
e AS (SELECT * FROM export_entries NATURAL JOIN id),
s AS (SELECT item_key, section, live, export_sequence FROM sections_in_sql NATURAL JOIN id
      UNION ALL SELECT item_key, section, live, export_sequence FROM sections_in_store NATURAL JOIN id)`

// expectSound holds a collection to what is so at any time: in the rows, and as a
// reader sees it.
func (k *keeper) expectSound(t testing.TB, collection string) {
	t.Helper()
	for what, sql := range unsound {
		rows, err := k.adminOf(collection).Query(t.Context(), sql, k.scope.Tenant, collection)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil || len(found) > 0 {
			t.Errorf("%s: there is %s: %q, %v", collection, what, found, err)
		}
	}
	k.expectReadable(t, collection)
}

// expectReadable reads everything, in each way that there is: a record by record,
// and the export. They agree, and each body is what its digest says.
func (k *keeper) expectReadable(t testing.TB, collection string) {
	t.Helper()
	read := map[string]Section{}
	for after, more := "", true; more; {
		page, err := k.Records(t.Context(), k.scope, collection, Filter{}, after, 100)
		if err != nil {
			t.Fatalf("list %s: %v", collection, err)
		}
		after, more = page.Last, page.More
		for _, r := range page.Records {
			bodies, err := k.RecordWithBodies(t.Context(), k.scope, collection, r.Key)
			if err != nil {
				t.Errorf("%s of %s can't be read: %v", r.Key, collection, err)
				continue
			}
			for _, s := range bodies.Sections {
				read[r.Key+" "+s.Name] = s
				if s.Live && DigestOf(s.Body) != s.Digest {
					t.Errorf("%s of %s has a body that isn't its digest's", s.Name, r.Key)
				}
			}
			bodies.Close()
		}
	}
	k.expectExported(t, collection, read)
}

func (k *keeper) expectExported(t testing.TB, collection string, read map[string]Section) {
	t.Helper()
	last := int64(0)
	for after, more := int64(0), true; more; {
		page, err := k.Export(t.Context(), k.scope, collection, ExportRequest{After: after, Bodies: true})
		if err != nil {
			t.Fatalf("export %s: %v", collection, err)
		}
		for _, e := range page.Records {
			s, is := read[e.Key+" "+e.Name]
			if !is || s.Sequence != e.Sequence || s.Live != e.Live || s.Digest != e.Digest || !slices.Equal(s.Body, e.Body) || e.Sequence <= last {
				t.Errorf("the export of %s has %s of %s at %d behind %d, and the record has it at %d", collection, e.Name, e.Key, e.Sequence, last, s.Sequence)
			}
			delete(read, e.Key+" "+e.Name)
			last = e.Sequence
		}
		page.Close()
		if page.More && page.Next <= after {
			t.Fatalf("the export of %s doesn't go on behind %d", collection, after)
		}
		after, more = page.Next, page.More
	}
	for section := range read {
		t.Errorf("the export of %s doesn't have %s", collection, section)
	}
}
