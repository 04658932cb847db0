package export

// The tokens of claims, hashes of codes and fingerprints of requests are left out.
const (
	sqlAccounts = `
SELECT ARRAY[x.account_id::text], row_to_json(x)::text FROM (
  SELECT a.account_id, a.revision, a.status, a.handle, a.email, a.email_verified_at, a.display_name, a.attributes,
         a.created_at, a.updated_at, a.deleted_at, a.quarantined_until
    FROM accounts a WHERE a.tenant_id = $1 AND a.number = $2 AND a.account_id > ($3::text[])[1]::uuid
   ORDER BY a.account_id LIMIT $4) x`

	sqlEmailChanges = `
SELECT ARRAY[x.account_id::text], row_to_json(x)::text FROM (
  SELECT e.account_id, e.change_id, e.email, e.wrong_codes, e.created_at, e.expires_at
    FROM email_changes e WHERE e.tenant_id = $1 AND e.number = $2 AND e.account_id > ($3::text[])[1]::uuid
   ORDER BY e.account_id LIMIT $4) x`

	sqlDevices = `
SELECT ARRAY[x.device_id::text], row_to_json(x)::text FROM (
  SELECT d.device_id, d.revision, d.status, d.account_id, d.label, d.client_id, d.scopes, d.expires_at, d.refresh_expires_at,
         d.created_at, d.updated_at, d.approved_at, d.redeemed_at
    FROM devices d WHERE d.tenant_id = $1 AND d.number = $2 AND d.device_id > ($3::text[])[1]::uuid
   ORDER BY d.device_id LIMIT $4) x`

	sqlAccountDevices = `
SELECT ARRAY[x.account_id::text, x.device_id::text], row_to_json(x)::text FROM (
  SELECT d.account_id, d.device_id, d.confirmed, d.created_at
    FROM account_devices d
   WHERE d.tenant_id = $1 AND d.number = $2 AND (d.account_id, d.device_id) > (($3::text[])[1]::uuid, ($3::text[])[2]::uuid)
   ORDER BY d.account_id, d.device_id LIMIT $4) x`

	sqlEvents = `
SELECT ARRAY[x.sequence::text], row_to_json(x)::text FROM (
  SELECT e.number, e.sequence, e.family, e.record_id, e.revision, e.kind, e.fields, e.actor_kind, e.actor_id, e.at
    FROM events e WHERE e.tenant_id = $1 AND e.number = $2 AND e.sequence > ($3::text[])[1]::bigint
   ORDER BY e.sequence LIMIT $4) x`
)
