-- What a data database keeps of its being put back to an earlier time: that its
-- numbers are closed until it agrees with the other databases again, and where its
-- counters stood, so that whoever has seen more is told.

-- +goose Up

-- One row a time that the database was closed for a restore; at most one isn't
-- opened. incarnation names the very database, as it runs: what was restored is
-- another one than what was backed up, and its numbers are closed anew.
CREATE TABLE restores (
    restore_id    uuid PRIMARY KEY,
    incarnation   text COLLATE "C" NOT NULL,
    closed_at     timestamptz NOT NULL,
    reconciled_at timestamptz,
    opened_at     timestamptz
);
ALTER TABLE restores ENABLE ROW LEVEL SECURITY;
ALTER TABLE restores FORCE ROW LEVEL SECURITY;
CREATE POLICY operator ON restores USING (holdfast_operator());

-- Behind a restore a counter goes on at its next era (2^40 numbers): restored is
-- where it stood before, and restore_id the last restore that it has left behind.
ALTER TABLE event_counters
    ADD COLUMN restored bigint NOT NULL DEFAULT 0,
    ADD COLUMN restore_id uuid;
ALTER TABLE collections
    ADD COLUMN restored_sequence bigint NOT NULL DEFAULT 0,
    ADD COLUMN restore_id uuid;

-- As enter, for the work that puts databases in step behind a restore: in numbers
-- that are closed and in those that are open, whatever state the tenant is in. The
-- owner alone may call it.
-- +goose StatementBegin
CREATE FUNCTION enter_restore(p_tenant uuid, p_numbers smallint[], p_record_format smallint, p_lease_rules smallint) RETURNS void
    LANGUAGE plpgsql AS $$
DECLARE
    v_here    integer;
    v_unknown integer;
BEGIN
    EXECUTE format('SET LOCAL holdfast.tenant = %L', p_tenant);
    PERFORM pg_advisory_xact_lock_shared(tenant_gate_lock(p_tenant));
    PERFORM pg_advisory_xact_lock_shared(number_gates_lock());
    SELECT count(*), count(*) FILTER (WHERE n.record_format > p_record_format OR n.lease_rules > p_lease_rules)
      INTO v_here, v_unknown
      FROM number_gates n WHERE n.number = ANY (p_numbers);
    IF v_here <> cardinality(p_numbers) THEN
        RAISE EXCEPTION 'a number is not on this database' USING ERRCODE = 'HF001';
    ELSIF v_unknown > 0 THEN
        RAISE EXCEPTION 'this process knows too little' USING ERRCODE = 'HF003';
    END IF;
END $$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION enter_restore(uuid, smallint[], smallint, smallint) FROM PUBLIC;
