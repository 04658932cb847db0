-- What waits for somebody's decision in a database, of all tenants, for the worker's
-- metrics: sections that migrations have deferred.

-- +goose Up

CREATE POLICY scanner ON migration_deferred FOR SELECT TO holdfast_scanner USING (true);
-- +goose StatementBegin
CREATE FUNCTION deferred_sections() RETURNS TABLE (sections bigint, oldest timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT count(*), min(d.first_at) FROM migration_deferred d;
    END;
-- +goose StatementEnd
GRANT SELECT (tenant_id, first_at) ON migration_deferred TO holdfast_scanner;
GRANT CREATE ON SCHEMA public TO holdfast_scanner;
ALTER FUNCTION deferred_sections() OWNER TO holdfast_scanner;
REVOKE CREATE ON SCHEMA public FROM holdfast_scanner;
REVOKE EXECUTE ON FUNCTION deferred_sections() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION deferred_sections() TO holdfast_worker;
