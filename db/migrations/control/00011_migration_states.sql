-- How many migrations stand where, of all tenants, for the worker's metrics.

-- +goose Up

CREATE POLICY scanner ON migrations FOR SELECT TO holdfast_scanner USING (true);
-- +goose StatementBegin
CREATE FUNCTION migration_states() RETURNS TABLE (state text, migrations bigint, since timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT m.state, count(*), min(m.changed_at) FROM migrations m WHERE m.state NOT IN ('closed', 'aborted') GROUP BY m.state;
    END;
-- +goose StatementEnd
GRANT SELECT (tenant_id, state, changed_at) ON migrations TO holdfast_scanner;
GRANT CREATE ON SCHEMA public TO holdfast_scanner;
ALTER FUNCTION migration_states() OWNER TO holdfast_scanner;
REVOKE CREATE ON SCHEMA public FROM holdfast_scanner;
REVOKE EXECUTE ON FUNCTION migration_states() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION migration_states() TO holdfast_worker;
