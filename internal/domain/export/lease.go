package export

const (
	sqlWorlds = `
SELECT ARRAY[x.world_id], row_to_json(x)::text FROM (
  SELECT w.world_id, w.position, w.epoch, w.holder_issuer, w.holder_subject, w.term_seconds, w.expires_at, w.activated,
         encode(w.chain_hash, 'hex') AS chain_hash, w.last_at, w.retired, w.created_at
    FROM worlds w WHERE w.tenant_id = $1 AND w.number = $2 AND w.world_id > ($3::text[])[1]
   ORDER BY w.world_id LIMIT $4) x`

	sqlCheckpoints = `
SELECT ARRAY[x.world_id, x.position::text], row_to_json(x)::text FROM (
  SELECT c.world_id, c.position, encode(c.chain_hash, 'hex') AS hash, c.signed_at AS at, c.key_id,
         replace(encode(c.signature, 'base64'), chr(10), '') AS signature
    FROM checkpoints c
   WHERE c.tenant_id = $1 AND c.number = $2 AND (c.world_id, c.position) > (($3::text[])[1], ($3::text[])[2]::bigint)
   ORDER BY c.world_id, c.position LIMIT $4) x`

	// sqlNextWorld is the world whose entries come next: the one that was read last,
	// since it may have more, or else the first behind it.
	sqlNextWorld = `
SELECT w.world_id FROM worlds w WHERE w.tenant_id = $1 AND w.number = $2 AND w.world_id >= $3 AND NOT w.retired
 ORDER BY w.world_id LIMIT 1`
)
