-- What a data database knows of a number and of a tenant: open, or why not.
-- The two holdfast_… functions stand in the control migrations too, word for
-- word, since control and data tables may share one database.

-- +goose Up

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION holdfast_tenant() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
    RETURN NULLIF(current_setting('holdfast.tenant', true), '')::uuid;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION holdfast_operator() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
    RETURN current_setting('holdfast.tenant', true) = '00000000-0000-0000-0000-000000000000';
-- +goose StatementEnd

-- A number lives on the database whose gate for it is open. The rules are the
-- least that a process must know before it may write there.
CREATE TABLE number_gates (
    number        smallint PRIMARY KEY CHECK (number BETWEEN 0 AND 63),
    state         text NOT NULL CHECK (state IN ('open', 'closed')),
    record_format smallint NOT NULL,
    lease_rules   smallint NOT NULL
);

-- revision is the tenant's in the control database: a gate follows it forward
-- only, so that a late process can't put it back.
CREATE TABLE tenant_gates (
    tenant_id      uuid PRIMARY KEY,
    state          text NOT NULL CHECK (state IN ('open', 'suspended', 'closed')),
    layout         text NOT NULL,
    identity_state text NOT NULL CHECK (identity_state IN ('open', 'importing')),
    revision       bigint NOT NULL
);

ALTER TABLE number_gates ENABLE ROW LEVEL SECURITY;
ALTER TABLE number_gates FORCE ROW LEVEL SECURITY;
CREATE POLICY everyone ON number_gates FOR SELECT USING (true);
CREATE POLICY operator ON number_gates USING (holdfast_operator());
ALTER TABLE tenant_gates ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenant_gates FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON tenant_gates USING (tenant_id = holdfast_tenant());
GRANT SELECT ON number_gates, tenant_gates TO holdfast_api, holdfast_worker;
GRANT INSERT, UPDATE ON tenant_gates TO holdfast_api;

-- The locks that a gate is held by. One for all numbers of the database, since
-- they close seldom and are entered always; one a tenant.
-- +goose StatementBegin
CREATE FUNCTION number_gates_lock() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN hashtextextended('holdfast/number-gates', 0);
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION tenant_gate_lock(p_tenant uuid) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN hashtextextended('holdfast/tenant-gate/' || p_tenant::text, 0);
-- +goose StatementEnd

-- Every domain transaction begins here: it sets the tenant for row-level
-- security and refuses what is not open for the purpose, or a process that
-- knows too little. Both gates are held by shared locks until the transaction
-- ends; closing one takes its lock exclusively and so waits for whatever is
-- under way. The function is VOLATILE: each statement in it sees what was
-- committed before it, and the gates are read after their locks were taken.
--
-- Which state admits which purpose:
--
--   purpose    tenant gate        number gate   identity
--   serve      open               open          open
--   import     open               open          importing
--   export     open, suspended    open          any
--   move       any                closed        any
--
-- p_layout is NULL where the transaction doesn't touch the identity domain.
-- p_unsynced has its commit not wait for the disk.
-- +goose StatementBegin
CREATE FUNCTION enter(
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
    ELSIF p_layout IS NOT NULL AND p_purpose IN ('serve', 'import')
          AND v_gate.identity_state <> (CASE p_purpose WHEN 'import' THEN 'importing' ELSE 'open' END) THEN
        RAISE EXCEPTION 'the namespace is %', v_gate.identity_state USING ERRCODE = 'HF007';
    END IF;
END $$;
-- +goose StatementEnd

-- For what belongs to no tenant: the sweeps' progress, the gates' own state.
-- +goose StatementBegin
CREATE FUNCTION enter_operator() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    SET LOCAL holdfast.tenant = '00000000-0000-0000-0000-000000000000';
END $$;
-- +goose StatementEnd

-- Stops a transaction whose writes did not do what its decision says, in the
-- same round trip as its commit: the statements behind it are not run.
-- +goose StatementBegin
CREATE FUNCTION demand(p_done boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF p_done IS NOT TRUE THEN
        RAISE EXCEPTION 'a guarded write did not match what was locked' USING ERRCODE = 'HF008';
    END IF;
END $$;
-- +goose StatementEnd
