package record

const ofCollection = `
  FROM (SELECT c.number, c.collection_id FROM collections c WHERE c.tenant_id = $1 AND c.number = $2 AND c.collection = $3 LIMIT 1) c`

// sqlRowsInSQL walks a collection's rows by their identities, and sqlRowsInStore
// those in the store by their keys; the first of them, as many as the last argument
// says, with the bytes of all of their record's, and the others with NULL.
const (
	sqlRowsInSQL = `
SELECT s.row_identity, s.item_key, CASE WHEN s.ordinal <= $7 THEN
       (SELECT sum(t.length)::bigint FROM sections_in_sql t
         WHERE t.tenant_id = $1 AND t.number = c.number AND t.collection_id = c.collection_id AND t.item_key = s.item_key) END` + ofCollection + `
 CROSS JOIN LATERAL (SELECT s.*, row_number() OVER (ORDER BY s.row_identity) AS ordinal
                       FROM (SELECT s.row_identity, s.item_key FROM sections_in_sql s
                              WHERE s.number::integer = c.number::integer AND s.tenant_id = $1 AND s.collection_id = c.collection_id
                                AND s.row_identity > $4 AND s.row_identity <= $5
                              ORDER BY s.row_identity LIMIT $6) s) s
 ORDER BY s.row_identity`
	sqlRowsInStore = `
SELECT 0::bigint, s.item_key, CASE WHEN s.ordinal <= $6 THEN
       (SELECT sum(t.length)::bigint FROM sections_in_store t
         WHERE t.tenant_id = $1 AND t.number = c.number AND t.collection_id = c.collection_id AND t.item_key = s.item_key) END` + ofCollection + `
 CROSS JOIN LATERAL (SELECT s.*, row_number() OVER (ORDER BY s.item_key, s.section) AS ordinal
                       FROM (SELECT s.item_key, s.section FROM sections_in_store s
                              WHERE s.tenant_id = $1 AND s.number = c.number AND s.collection_id = c.collection_id AND s.item_key > $4
                              ORDER BY s.item_key, s.section LIMIT $5) s) s
 ORDER BY s.item_key, s.section`
)

// sqlCapturedInSQL and sqlCapturedInStore read what records have in a format.
// sqlCaptureInSQL reads the bodies with it, in the same statement, of sections that
// are no longer than $5. OFFSET 0 keeps the planner from making one join of them,
// which on empty tables it plans as a walk through all that the tenant has.
const (
	sqlCapturedInSQL = capturedColumns + `false, NULL::bytea` + ofCaptured + capturedInSQL + capturedExport + `
 ORDER BY r.item_key, s.section`
	sqlCaptureInSQL = capturedColumns + `coalesce(b.whole, false), b.content` + ofCaptured + capturedInSQL + capturedExport + `
  LEFT JOIN LATERAL (` + contentInSQL + ` WHERE s.live AND s.length <= $5 LIMIT 1) b ON true
 ORDER BY r.item_key, s.section`
	sqlCapturedInStore = capturedColumns + `false, NULL::bytea` + ofCaptured + capturedInStore + capturedExport + `
 ORDER BY r.item_key, s.section`

	capturedColumns = `
SELECT r.item_key, r.revision, ` + sectionColumns + `, s.row_identity, e.export_sequence IS NOT NULL, `
	ofCaptured = ofCollection + `
 CROSS JOIN unnest($4::text[]) AS k (item_key)
 CROSS JOIN LATERAL (SELECT r.* FROM records r
                      WHERE r.tenant_id = $1 AND r.number = c.number AND r.collection_id = c.collection_id AND r.item_key = k.item_key LIMIT 1) r`
	capturedInSQL = `
 CROSS JOIN LATERAL (SELECT 1::smallint AS format, 0 AS generation, s.section, s.live, s.digest, s.length, s.chunks,
                            s.producer, s.export_sequence, s.updated_at, s.row_identity
                       FROM sections_in_sql s
                      WHERE s.tenant_id = $1 AND s.number = r.number AND s.collection_id = r.collection_id AND s.item_key = r.item_key OFFSET 0) s`
	capturedInStore = `
 CROSS JOIN LATERAL (SELECT 2::smallint AS format, coalesce(s.generation, 0) AS generation, s.section, s.live, s.digest, s.length, 0 AS chunks,
                            s.producer, s.export_sequence, s.updated_at, 0::bigint AS row_identity
                       FROM sections_in_store s
                      WHERE s.tenant_id = $1 AND s.number = r.number AND s.collection_id = r.collection_id AND s.item_key = r.item_key OFFSET 0) s`
	capturedExport = `
  LEFT JOIN LATERAL (SELECT e.export_sequence FROM export_entries e
                      WHERE e.tenant_id = $1 AND e.number = r.number AND e.collection_id = r.collection_id
                        AND e.section = s.section AND e.export_sequence = s.export_sequence AND e.item_key = r.item_key LIMIT 1) e ON true`
)
