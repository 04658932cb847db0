-- A purpose for work that goes on whether a tenant's namespace is open yet or
-- still importing: imports, sweeps, cleanup.

-- +goose Up

-- enter as it was, with maintain instead of import, which nobody used.
--
-- Which state admits which purpose:
--
--   purpose    tenant gate        number gate   identity
--   serve      open               open          open
--   maintain   open               open          any
--   export     open, suspended    open          any
--   move       any                closed        any
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
    ELSIF p_purpose = 'move' THEN
        RETURN;
    ELSIF v_gate.state IS NULL OR v_gate.state = 'closed' THEN
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
