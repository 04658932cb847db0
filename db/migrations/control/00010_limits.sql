-- What a tenant may do and have, and what was counted of what it has.

-- +goose Up

-- The limits that an operator set for a tenant. NULL is the default of the
-- process that asks. Without a row all are, at revision 1.
CREATE TABLE tenant_limits (
    tenant_id           uuid PRIMARY KEY,
    requests_per_second bigint CHECK (requests_per_second > 0),
    concurrent_requests bigint CHECK (concurrent_requests > 0),
    waiting_requests    bigint CHECK (waiting_requests > 0),
    entries_per_second  bigint CHECK (entries_per_second > 0),
    import_rows         bigint CHECK (import_rows > 0),
    accounts            bigint CHECK (accounts >= 0),
    devices             bigint CHECK (devices >= 0),
    worlds              bigint CHECK (worlds >= 0),
    body_bytes          bigint CHECK (body_bytes >= 0),
    revision            bigint NOT NULL CHECK (revision > 1),
    updated_at          timestamptz NOT NULL
);

-- What a data database has of a tenant, when that was counted, and when it is to
-- be counted again: the longer a count took, the later.
CREATE TABLE tenant_usage (
    tenant_id  uuid NOT NULL,
    database   text COLLATE "C" NOT NULL,
    accounts   bigint NOT NULL,
    devices    bigint NOT NULL,
    worlds     bigint NOT NULL,
    body_bytes bigint NOT NULL,
    counted_at timestamptz,
    due_at     timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, database)
);

ALTER TABLE tenant_limits ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenant_limits FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON tenant_limits USING (tenant_id = holdfast_tenant());
ALTER TABLE tenant_usage ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenant_usage FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON tenant_usage USING (tenant_id = holdfast_tenant());

-- The tenants whose stock on a database is to be counted, the longest due first.
-- It tells ids and nothing else; each is then counted as that tenant.
CREATE POLICY scanner ON tenants FOR SELECT TO holdfast_scanner USING (true);
CREATE POLICY scanner ON tenant_usage FOR SELECT TO holdfast_scanner USING (true);
GRANT SELECT (tenant_id, state) ON tenants TO holdfast_scanner;
GRANT SELECT (tenant_id, database, due_at) ON tenant_usage TO holdfast_scanner;
-- +goose StatementBegin
CREATE FUNCTION tenants_to_count(p_database text, p_limit integer) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT t.tenant_id
          FROM tenants t LEFT JOIN tenant_usage u ON u.tenant_id = t.tenant_id AND u.database = p_database
         WHERE t.state = 'active' AND (u.due_at IS NULL OR u.due_at <= clock_timestamp())
         ORDER BY u.due_at NULLS FIRST, t.tenant_id
         LIMIT p_limit;
    END;
-- +goose StatementEnd
GRANT CREATE ON SCHEMA public TO holdfast_scanner;
ALTER FUNCTION tenants_to_count(text, integer) OWNER TO holdfast_scanner;
REVOKE CREATE ON SCHEMA public FROM holdfast_scanner;
REVOKE EXECUTE ON FUNCTION tenants_to_count(text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tenants_to_count(text, integer) TO holdfast_worker;

GRANT SELECT, INSERT, UPDATE ON tenant_limits TO holdfast_api;
GRANT SELECT ON tenant_usage TO holdfast_api;
GRANT SELECT, INSERT, UPDATE ON tenant_usage TO holdfast_worker;
