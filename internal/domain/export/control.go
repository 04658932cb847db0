package export

// The row-level security of the control database shows the tenant's rows and no
// others; the tenant is not an argument.
const (
	sqlTenant = `
SELECT ARRAY[x.tenant_id::text], row_to_json(x)::text FROM (
  SELECT t.tenant_id, t.name, t.state, t.layout, t.identity_state, t.handle_policy, t.record_format, t.revision, t.created_at, t.updated_at
    FROM tenants t WHERE t.tenant_id > ($1::text[])[1]::uuid ORDER BY t.tenant_id LIMIT $2) x`

	sqlTenantLimits = `
SELECT ARRAY[x.tenant_id::text], row_to_json(x)::text FROM (
  SELECT l.* FROM tenant_limits l WHERE l.tenant_id > ($1::text[])[1]::uuid ORDER BY l.tenant_id LIMIT $2) x`

	sqlPrincipals = `
SELECT ARRAY[x.principal_id::text], row_to_json(x)::text FROM (
  SELECT p.principal_id, p.name, p.scopes, p.created_at, p.disabled_at
    FROM principals p WHERE p.principal_id > ($1::text[])[1]::uuid ORDER BY p.principal_id LIMIT $2) x`

	sqlAPIKeys = `
SELECT ARRAY[x.key_id::text], row_to_json(x)::text FROM (
  SELECT k.key_id, k.principal_id, k.label, k.created_at, k.expires_at, k.revoked_at
    FROM api_keys k WHERE k.key_id > ($1::text[])[1]::uuid ORDER BY k.key_id LIMIT $2) x`

	sqlClients = `
SELECT ARRAY[x.client_id::text], row_to_json(x)::text FROM (
  SELECT c.client_id, c.name, c.scopes, c.verification_uri, c.created_at, c.disabled_at
    FROM clients c WHERE c.client_id > ($1::text[])[1]::uuid ORDER BY c.client_id LIMIT $2) x`

	sqlIssuers = `
SELECT ARRAY[x.issuer_id::text], row_to_json(x)::text FROM (
  SELECT i.issuer_id, i.issuer, i.jwks_uri, i.audience, i.scopes, extract(epoch FROM i.max_lifetime)::bigint AS max_lifetime_seconds,
         i.created_at, i.disabled_at
    FROM issuers i WHERE i.issuer_id > ($1::text[])[1]::uuid ORDER BY i.issuer_id LIMIT $2) x`

	sqlMigrations = `
SELECT ARRAY[x.migration_id::text], row_to_json(x)::text FROM (
  SELECT m.migration_id, m.kind, m.state, m.revision, m.collections, encode(m.plan_hash, 'hex') AS plan_hash, m.stop, m.requester,
         m.requested_at, m.changed_at
    FROM migrations m WHERE m.migration_id > ($1::text[])[1]::uuid ORDER BY m.migration_id LIMIT $2) x`

	sqlMigrationPlans = `
SELECT ARRAY[x.migration_id::text, x.plan_hash], row_to_json(x)::text FROM (
  SELECT p.migration_id, encode(p.plan_hash, 'hex') AS plan_hash, p.packet, p.observations, p.previewer, p.previewed_at
    FROM migration_plans p
   WHERE (p.migration_id, encode(p.plan_hash, 'hex') COLLATE "C") > (($1::text[])[1]::uuid, ($1::text[])[2])
   ORDER BY p.migration_id, encode(p.plan_hash, 'hex') COLLATE "C" LIMIT $2) x`

	sqlMigrationTransitions = `
SELECT ARRAY[x.migration_id::text, x.revision::text], row_to_json(x)::text FROM (
  SELECT t.migration_id, t.revision, t.from_state, t.to_state, t.act, t.actor, t.note, t.at
    FROM migration_transitions t WHERE (t.migration_id, t.revision) > (($1::text[])[1]::uuid, ($1::text[])[2]::bigint)
   ORDER BY t.migration_id, t.revision LIMIT $2) x`

	sqlMigrationReports = `
SELECT ARRAY[x.migration_id::text, x.report_id::text], row_to_json(x)::text FROM (
  SELECT r.migration_id, r.report_id, r.kind, encode(r.plan_hash, 'hex') AS plan_hash, r.build, r.passed, r.report, r.actor, r.started_at, r.ended_at
    FROM migration_reports r WHERE (r.migration_id, r.report_id) > (($1::text[])[1]::uuid, ($1::text[])[2]::uuid)
   ORDER BY r.migration_id, r.report_id LIMIT $2) x`
)
