-- The end of a tenant's rows: a gate that admits nothing but their purge, and the
-- function that deletes them in bounded passes.

-- +goose Up

ALTER TABLE tenant_gates DROP CONSTRAINT tenant_gates_state_check;
ALTER TABLE tenant_gates ADD CONSTRAINT tenant_gates_state_check
    CHECK (state IN ('open', 'suspended', 'deleting', 'purging', 'closed'));
GRANT INSERT, UPDATE ON tenant_gates TO holdfast_worker;

-- enter as it was, with the states and the purpose of a deletion.
--
-- Which state admits which purpose:
--
--   purpose    tenant gate                 number gate   identity
--   serve      open                        open          open
--   maintain   open                        open          any
--   export     open, suspended, deleting   open          any
--   purge      purging                     open          any
--   move       any                         closed        any
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION enter(
    p_tenant uuid, p_numbers smallint[], p_purpose text,
    p_layout text, p_record_format smallint, p_lease_rules smallint, p_unsynced boolean
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_gate    tenant_gates;
    v_here    integer;
    v_open    integer;
    v_unknown integer;
BEGIN
    EXECUTE format('SET LOCAL holdfast.tenant = %L', p_tenant);
    IF p_unsynced THEN
        SET LOCAL synchronous_commit = off;
    END IF;
    PERFORM pg_advisory_xact_lock_shared(tenant_gate_lock(p_tenant));
    PERFORM pg_advisory_xact_lock_shared(number_gates_lock());

    SELECT * INTO v_gate FROM tenant_gates g WHERE g.tenant_id = p_tenant;
    SELECT count(*), count(*) FILTER (WHERE n.state = 'open'),
           count(*) FILTER (WHERE n.record_format > p_record_format OR n.lease_rules > p_lease_rules)
      INTO v_here, v_open, v_unknown
      FROM number_gates n WHERE n.number = ANY (p_numbers);

    IF v_here <> cardinality(p_numbers) THEN
        RAISE EXCEPTION 'a number is not on this database' USING ERRCODE = 'HF001';
    ELSIF v_open <> (CASE WHEN p_purpose = 'move' THEN 0 ELSE v_here END) THEN
        RAISE EXCEPTION 'a number is not open for %', p_purpose USING ERRCODE = 'HF002';
    ELSIF v_unknown > 0 THEN
        RAISE EXCEPTION 'this process knows too little' USING ERRCODE = 'HF003';
    ELSIF p_purpose = 'move' OR (p_purpose = 'purge' AND v_gate.state = 'purging') THEN
        RETURN;
    ELSIF v_gate.state = 'deleting' AND p_purpose NOT IN ('export', 'purge') THEN
        RAISE EXCEPTION 'the tenant is being deleted' USING ERRCODE = 'HF009';
    ELSIF v_gate.state IS NULL OR v_gate.state IN ('closed', 'purging') OR p_purpose = 'purge' THEN
        RAISE EXCEPTION 'the tenant is not open here' USING ERRCODE = 'HF004';
    ELSIF v_gate.state = 'suspended' AND p_purpose <> 'export' THEN
        RAISE EXCEPTION 'the tenant is suspended' USING ERRCODE = 'HF005';
    ELSIF p_layout IS NOT NULL AND v_gate.layout <> p_layout THEN
        RAISE EXCEPTION 'the tenant has another layout' USING ERRCODE = 'HF006';
    ELSIF p_layout IS NOT NULL AND p_purpose = 'serve' AND v_gate.identity_state <> 'open' THEN
        RAISE EXCEPTION 'the namespace is %', v_gate.identity_state USING ERRCODE = 'HF007';
    END IF;
END $$;
-- +goose StatementEnd

-- What was deleted of a tenant so far, by number and table, written in the
-- transaction that deletes: it adds up however often a purge is interrupted. It goes
-- when the tombstone has it.
CREATE TABLE purge_counts (
    tenant_id uuid NOT NULL,
    number    smallint NOT NULL,
    name      text COLLATE "C" NOT NULL,
    deleted   bigint NOT NULL CHECK (deleted > 0),
    PRIMARY KEY (tenant_id, number, name)
);
ALTER TABLE purge_counts ENABLE ROW LEVEL SECURITY;
ALTER TABLE purge_counts FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON purge_counts USING (tenant_id = holdfast_tenant());
GRANT SELECT, DELETE ON purge_counts TO holdfast_worker;

-- The tables that have rows of a tenant's in numbers. No list, so that none that
-- comes later can be forgotten.
-- +goose StatementBegin
CREATE FUNCTION purge_tables() RETURNS SETOF text LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT c.relname::text FROM pg_class c
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
           AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped)
           AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'number' AND NOT a.attisdropped)
           AND c.relname <> 'purge_counts'
         ORDER BY c.relname;
    END;
-- +goose StatementEnd

-- The first number from one on that has rows of the tenant that the transaction is
-- entered for, in whichever table: NULL for none. It is the owner's, as the next one.
-- +goose StatementBegin
CREATE FUNCTION purge_next(p_from smallint) RETURNS smallint
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    v_next smallint;
BEGIN
    EXECUTE (SELECT 'SELECT min(n.number) FROM (' || string_agg(format(
                 '(SELECT t.number FROM %I t WHERE t.tenant_id = $1 AND t.number >= $2 ORDER BY t.tenant_id, t.number LIMIT 1)', p.name), ' UNION ALL ')
                 || ') n' FROM purge_tables() AS p (name))
       INTO v_next USING holdfast_tenant(), p_from;
    RETURN v_next;
END $$;
-- +goose StatementEnd

-- Deletes up to so many rows of a number of the tenant that the transaction is
-- entered for, and tells how many: NULL when another worker is at the number.
-- It is the owner's, who may delete everywhere and on whom row-level security is
-- forced: it sees that tenant's rows alone, and only of one that is being purged.
-- Whoever serves may delete neither journals nor worlds; nobody else does either.
-- +goose StatementBegin
CREATE FUNCTION purge_number(p_number smallint, p_limit integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    v_tenant  uuid := holdfast_tenant();
    v_table   text;
    v_deleted bigint;
    v_all     bigint := 0;
BEGIN
    IF NOT EXISTS (SELECT FROM tenant_gates g WHERE g.tenant_id = v_tenant AND g.state = 'purging') THEN
        RAISE EXCEPTION 'the tenant is not being purged' USING ERRCODE = 'HF004';
    ELSIF NOT pg_try_advisory_xact_lock(hashtextextended('holdfast/purge/' || v_tenant::text || '/' || p_number::text, 0)) THEN
        RETURN NULL;
    END IF;
    FOR v_table IN SELECT purge_tables() LOOP
        EXECUTE format('DELETE FROM %1$I d WHERE d.tenant_id = $1 AND d.number = $2 AND d.ctid = ANY (ARRAY('
                       'SELECT s.ctid FROM %1$I s WHERE s.tenant_id = $1 AND s.number = $2 LIMIT $3))', v_table)
          USING v_tenant, p_number, p_limit - v_all;
        GET DIAGNOSTICS v_deleted = ROW_COUNT;
        IF v_deleted > 0 THEN
            v_all := v_all + v_deleted;
            INSERT INTO purge_counts AS c (tenant_id, number, name, deleted) VALUES (v_tenant, p_number, v_table, v_deleted)
            ON CONFLICT (tenant_id, number, name) DO UPDATE SET deleted = c.deleted + excluded.deleted;
        END IF;
        EXIT WHEN v_all >= p_limit;
    END LOOP;
    RETURN v_all;
END $$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION purge_next(smallint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION purge_next(smallint) TO holdfast_worker;
REVOKE EXECUTE ON FUNCTION purge_number(smallint, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION purge_number(smallint, integer) TO holdfast_worker;
