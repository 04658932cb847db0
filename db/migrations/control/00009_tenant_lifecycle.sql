-- A tenant's end: its deletion is asked for by one operator and approved by
-- another, waits for its grace, and then everything of the tenant is purged. A
-- legal hold stops that at any time.

-- +goose Up

ALTER TABLE tenants DROP CONSTRAINT tenants_state_check;
ALTER TABLE tenants ADD CONSTRAINT tenants_state_check
    CHECK (state IN ('provisioning', 'active', 'suspended', 'deleting', 'purging', 'purged'));
ALTER TABLE tenants ADD COLUMN hold_reason text COLLATE "C";
ALTER TABLE tenants ADD COLUMN held_by text COLLATE "C";
ALTER TABLE tenants ADD COLUMN held_at timestamptz;
ALTER TABLE tenants ADD CONSTRAINT tenants_hold_check
    CHECK ((hold_reason IS NULL) = (held_by IS NULL) AND (hold_reason IS NULL) = (held_at IS NULL));

-- The operator who made a principal, or a key: what two people have to do isn't done by
-- one and a second that it made. NULL of the first operators, and of what was made
-- before this.
ALTER TABLE principals ADD COLUMN created_by uuid;
ALTER TABLE api_keys ADD COLUMN created_by uuid;

-- Who asked for a tenant's deletion and who approved it. asked_from is the revision
-- of the tenant that it was asked for, by which a repeated request is known;
-- former_state is where calling it off leads back to. A deletion that is called off
-- has no row. All writers lock the tenant's row first.
CREATE TABLE tenant_deletions (
    tenant_id    uuid PRIMARY KEY,
    asker_id     uuid NOT NULL,
    asker        text COLLATE "C" NOT NULL,
    asked_at     timestamptz NOT NULL,
    asked_from   bigint NOT NULL CHECK (asked_from > 0),
    approver_id  uuid,
    approver     text COLLATE "C",
    approved_at  timestamptz,
    former_state text COLLATE "C" CHECK (former_state IN ('active', 'suspended')),
    purge_after  timestamptz,
    CHECK ((approver_id IS NULL) = (approver IS NULL) AND (approver_id IS NULL) = (approved_at IS NULL)
           AND (approver_id IS NULL) = (former_state IS NULL) AND (approver_id IS NULL) = (purge_after IS NULL)),
    CHECK (approver <> asker)
);

-- How far a purge is, and when it is done, the tombstone: counts and times, and
-- nothing of the tenant's own. turn is what each step compares and moves on, so that
-- of two workers one commits. next_number is the one whose rows go; after_object is
-- the last object that was counted; stalled is why the last step could not be done.
CREATE TABLE tenant_purges (
    tenant_id    uuid PRIMARY KEY,
    step         text COLLATE "C" NOT NULL CHECK (step IN ('gates', 'rows', 'control', 'jobs', 'objects', 'wait',
                 'again_objects', 'again_rows', 'again_control', 'again_jobs', 'counts', 'forget', 'close', 'done')),
    turn         bigint NOT NULL CHECK (turn > 0),
    next_number  smallint NOT NULL CHECK (next_number BETWEEN 0 AND 64),
    has_objects  boolean NOT NULL,
    after_object text COLLATE "C" NOT NULL,
    objects      bigint NOT NULL CHECK (objects >= 0),
    object_bytes bigint NOT NULL CHECK (object_bytes >= 0),
    jobs         bigint NOT NULL CHECK (jobs >= 0),
    control_rows json NOT NULL,
    rows         json,
    stalled      text COLLATE "C",
    began_at     timestamptz NOT NULL,
    stepped_at   timestamptz NOT NULL,
    settled_at   timestamptz,
    purged_at    timestamptz,
    CHECK ((step IN ('close', 'done')) = (purged_at IS NOT NULL)),
    CHECK (purged_at IS NULL OR rows IS NOT NULL)
);

ALTER TABLE tenant_deletions ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenant_deletions FORCE ROW LEVEL SECURITY;
CREATE POLICY operator ON tenant_deletions USING (holdfast_operator());
ALTER TABLE tenant_purges ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenant_purges FORCE ROW LEVEL SECURITY;
CREATE POLICY operator ON tenant_purges USING (holdfast_operator());
GRANT SELECT, INSERT, UPDATE, DELETE ON tenant_deletions TO holdfast_api;
GRANT SELECT ON tenant_purges TO holdfast_api;
GRANT SELECT ON tenant_deletions TO holdfast_worker;
GRANT SELECT, INSERT, UPDATE ON tenant_purges TO holdfast_worker;

-- The worker moves a tenant on behind its grace, tells the processes, and at the end
-- leaves nothing in the row that was the tenant's own.
GRANT SELECT (tenant_id, name, state, layout, identity_state, handle_policy, record_format, revision, created_at, updated_at,
              hold_reason, held_by, held_at) ON tenants TO holdfast_worker;
GRANT UPDATE (name, state, id_key, fingerprint, revision, updated_at) ON tenants TO holdfast_worker;
GRANT SELECT, UPDATE ON revocation_counter TO holdfast_worker;
GRANT SELECT, INSERT, DELETE ON revocations TO holdfast_worker;

-- A write of a tenant's own rows here begins with this: it sets the tenant, holds the
-- tenant's state until the transaction ends, and refuses what would be left behind
-- a purge. Whoever begins one takes the lock exclusively.
-- +goose StatementBegin
CREATE FUNCTION control_gate_lock(p_tenant uuid) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN hashtextextended('holdfast/control-gate/' || p_tenant::text, 0);
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION enter_control_write(p_tenant uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('SET LOCAL holdfast.tenant = %L', p_tenant);
    PERFORM pg_advisory_xact_lock_shared(control_gate_lock(p_tenant));
    IF EXISTS (SELECT FROM tenants t WHERE t.tenant_id = p_tenant AND t.state IN ('purging', 'purged')) THEN
        RAISE EXCEPTION 'the tenant is purged' USING ERRCODE = 'HF010';
    END IF;
END $$;
-- +goose StatementEnd

-- The control tables that have rows of a tenant's own, those first that refer to
-- others. A number is a data table's; the tombstone, what was revoked and the audit
-- log stay.
-- +goose StatementBegin
CREATE FUNCTION purge_control_tables() RETURNS SETOF text LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT c.relname::text FROM pg_class c
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
           AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped)
           AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'number' AND NOT a.attisdropped)
           AND c.relname NOT IN ('tenants', 'tenant_gates', 'tenant_deletions', 'tenant_purges', 'revocations')
           AND c.relname NOT LIKE 'audit%'
         ORDER BY (SELECT count(*) FROM pg_constraint f WHERE f.confrelid = c.oid AND f.contype = 'f' AND f.conrelid <> c.oid), c.relname;
    END;
-- +goose StatementEnd

-- Deletes up to so many rows of the tenant that the transaction is entered for, and
-- tells how many of which table. It is the owner's, who may delete everywhere and on
-- whom row-level security is forced: it sees that tenant's rows alone, and only of a
-- tenant that is being purged and not held.
-- +goose StatementBegin
CREATE FUNCTION purge_control(p_limit integer) RETURNS TABLE (name text, deleted bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    v_tenant uuid := holdfast_tenant();
    v_left   bigint := p_limit;
BEGIN
    IF NOT EXISTS (SELECT FROM tenants t WHERE t.tenant_id = v_tenant AND t.state = 'purging' AND t.held_at IS NULL) THEN
        RAISE EXCEPTION 'the tenant is not being purged' USING ERRCODE = 'HF004';
    END IF;
    FOR name IN SELECT purge_control_tables() LOOP
        EXECUTE format('DELETE FROM %1$I d WHERE d.tenant_id = $1 AND d.ctid = ANY (ARRAY('
                       'SELECT s.ctid FROM %1$I s WHERE s.tenant_id = $1 LIMIT $2))', name) USING v_tenant, v_left;
        GET DIAGNOSTICS deleted = ROW_COUNT;
        IF deleted > 0 THEN
            v_left := v_left - deleted;
            RETURN NEXT;
        END IF;
        EXIT WHEN v_left <= 0;
    END LOOP;
END $$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION purge_control(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION purge_control(integer) TO holdfast_worker;
