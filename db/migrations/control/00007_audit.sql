-- The log of administrative acts, one hash chain an installation. A row is an
-- entry's canonical text and the hash of it; the other columns are of the text, to
-- find entries by.

-- +goose Up

-- tenant_id is the tenant that the act concerns, all zeros for none; operator is
-- the name of the operator who acted, NULL where none did.
CREATE TABLE audit_log (
    sequence  bigint PRIMARY KEY CHECK (sequence > 0),
    at        timestamptz NOT NULL,
    tenant_id uuid NOT NULL,
    operator  text COLLATE "C",
    operation text COLLATE "C" NOT NULL,
    entry     text COLLATE "C" NOT NULL,
    hash      bytea NOT NULL CHECK (octet_length(hash) = 32)
);
CREATE INDEX audit_log_by_tenant ON audit_log (tenant_id, sequence);
CREATE INDEX audit_log_by_time ON audit_log (at);

ALTER TABLE audit_log ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_log FORCE ROW LEVEL SECURITY;
CREATE POLICY operator ON audit_log USING (holdfast_operator());
CREATE POLICY tenant ON audit_log FOR SELECT USING (tenant_id = holdfast_tenant());
CREATE POLICY scanner ON audit_log TO holdfast_scanner USING (true);

-- Entries are added and read, and that is all.
GRANT SELECT, INSERT ON audit_log TO holdfast_api, holdfast_worker;

-- Whoever appends holds this until it is committed.
-- +goose StatementBegin
CREATE FUNCTION audit_log_lock() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN hashtextextended('holdfast/audit-log', 0);
-- +goose StatementEnd

-- Takes entries off the front that have had their time, and tells how many, and
-- how many up to that number have not. Nobody can delete a younger one.
-- +goose StatementBegin
CREATE FUNCTION cut_audit_log(p_through bigint, OUT removed bigint, OUT remaining bigint)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    DELETE FROM audit_log a WHERE a.sequence <= p_through AND a.at < clock_timestamp() - interval '400 days';
    GET DIAGNOSTICS removed = ROW_COUNT;
    SELECT count(*) INTO remaining FROM audit_log a WHERE a.sequence <= p_through;
END $$;
-- +goose StatementEnd
GRANT SELECT, DELETE ON audit_log TO holdfast_scanner;
GRANT CREATE ON SCHEMA public TO holdfast_scanner;
ALTER FUNCTION cut_audit_log(bigint) OWNER TO holdfast_scanner;
REVOKE CREATE ON SCHEMA public FROM holdfast_scanner;
REVOKE EXECUTE ON FUNCTION cut_audit_log(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION cut_audit_log(bigint) TO holdfast_worker;
