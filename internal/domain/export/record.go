package export

// Bodies are left out: a live section's line has the digest by which its body is asked
// for, with the collection's name.
const (
	sqlCollections = `
SELECT ARRAY[x.collection], row_to_json(x)::text FROM (
  SELECT c.collection, c.collection_id, c.record_format, c.world_id, c.profile, c.export_sequence, c.created_at
    FROM collections c WHERE c.tenant_id = $1 AND c.number = $2 AND c.collection > ($3::text[])[1]
   ORDER BY c.collection LIMIT $4) x`

	sqlRecords = `
SELECT ARRAY[x.collection_id::text, x.key], row_to_json(x)::text FROM (
  SELECT r.collection_id, r.item_key AS key, r.revision, r.live, r.created_at, r.updated_at
    FROM records r
   WHERE r.tenant_id = $1 AND r.number = $2 AND (r.collection_id, r.item_key) > (($3::text[])[1]::uuid, ($3::text[])[2])
   ORDER BY r.collection_id, r.item_key LIMIT $4) x`

	sqlSectionsInSQL = `
SELECT ARRAY[x.collection_id::text, x.key, x.section], row_to_json(x)::text FROM (
  SELECT c.collection, s.* FROM (
    SELECT s.collection_id, s.item_key AS key, s.section, s.live, encode(s.digest, 'hex') AS digest, s.length, s.producer, s.export_sequence, s.updated_at
      FROM sections_in_sql s
     WHERE s.tenant_id = $1 AND s.number = $2
       AND (s.collection_id, s.item_key, s.section) > (($3::text[])[1]::uuid, ($3::text[])[2], ($3::text[])[3])
     ORDER BY s.collection_id, s.item_key, s.section LIMIT $4) s
    JOIN collections c ON c.tenant_id = $1 AND c.number = $2 AND c.collection_id = s.collection_id
   ORDER BY s.collection_id, s.key, s.section) x`

	sqlSectionsInStore = `
SELECT ARRAY[x.collection_id::text, x.key, x.section], row_to_json(x)::text FROM (
  SELECT c.collection, s.* FROM (
    SELECT s.collection_id, s.item_key AS key, s.section, s.live, encode(s.digest, 'hex') AS digest, s.length, s.producer, s.export_sequence, s.updated_at
      FROM sections_in_store s
     WHERE s.tenant_id = $1 AND s.number = $2
       AND (s.collection_id, s.item_key, s.section) > (($3::text[])[1]::uuid, ($3::text[])[2], ($3::text[])[3])
     ORDER BY s.collection_id, s.item_key, s.section LIMIT $4) s
    JOIN collections c ON c.tenant_id = $1 AND c.number = $2 AND c.collection_id = s.collection_id
   ORDER BY s.collection_id, s.key, s.section) x`

	sqlReceipts = `
SELECT ARRAY[x.collection_id::text, x.operation_id], row_to_json(x)::text FROM (
  SELECT r.collection_id, r.operation_id, r.receipt, r.created_at
    FROM receipts r
   WHERE r.tenant_id = $1 AND r.number = $2 AND (r.collection_id, r.operation_id) > (($3::text[])[1]::uuid, ($3::text[])[2])
   ORDER BY r.collection_id, r.operation_id LIMIT $4) x`

	sqlFences = `
SELECT ARRAY[x.collection_id::text, x.fence_key], row_to_json(x)::text FROM (
  SELECT f.collection_id, f.fence_key, f.fence_revision, f.item_key AS key, f.updated_at
    FROM fences f
   WHERE f.tenant_id = $1 AND f.number = $2 AND (f.collection_id, f.fence_key) > (($3::text[])[1]::uuid, ($3::text[])[2])
   ORDER BY f.collection_id, f.fence_key LIMIT $4) x`

	sqlBatches = `
SELECT ARRAY[x.collection_id::text, x.batch_id], row_to_json(x)::text FROM (
  SELECT b.collection_id, b.batch_id, b.owner, b.principal_id, b.generation, b.term_seconds, b.created_at, b.touched_at, b.completed_at
    FROM batches b
   WHERE b.tenant_id = $1 AND b.number = $2 AND (b.collection_id, b.batch_id) > (($3::text[])[1]::uuid, ($3::text[])[2])
   ORDER BY b.collection_id, b.batch_id LIMIT $4) x`

	sqlBatchItems = `
SELECT ARRAY[x.collection_id::text, x.batch_id, x.key], row_to_json(x)::text FROM (
  SELECT i.collection_id, i.batch_id, i.item_key AS key, i.generation, i.expires_at, i.outcome
    FROM batch_items i
   WHERE i.tenant_id = $1 AND i.number = $2
     AND (i.collection_id, i.batch_id, i.item_key) > (($3::text[])[1]::uuid, ($3::text[])[2], ($3::text[])[3])
   ORDER BY i.collection_id, i.batch_id, i.item_key LIMIT $4) x`

	sqlSnapshots = `
SELECT ARRAY[x.collection_id::text, x.snapshot_id::text], row_to_json(x)::text FROM (
  SELECT s.collection_id, s.snapshot_id, s.collection, s.state, s.requested_at, s.ended_at, s.sequence, s.parts, s.lines, s.length
    FROM snapshots s
   WHERE s.tenant_id = $1 AND s.number = $2 AND (s.collection_id, s.snapshot_id) > (($3::text[])[1]::uuid, ($3::text[])[2]::uuid)
   ORDER BY s.collection_id, s.snapshot_id LIMIT $4) x`
)
