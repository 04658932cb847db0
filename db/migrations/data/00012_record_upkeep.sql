-- What the worker does in the record domain: it writes snapshots, removes what has
-- had its time, and counts objects that nothing refers to.

-- +goose Up

-- A snapshot of a collection: all of its sections as they stood at one export
-- sequence, in parts that are objects. The row is the work's queue and its cursor.
--
-- A running one walks the records by key, from began_at_sequence on, and then goes
-- through the export behind it, to sequence. Its objects are below its run, which
-- is never used again. A failing one and a removing one have their objects removed;
-- then the failed one stays, to say why, and the other's row goes.
CREATE TABLE snapshots (
    tenant_id         uuid NOT NULL,
    number            smallint NOT NULL,
    collection_id     uuid NOT NULL,
    snapshot_id       uuid NOT NULL,
    collection        text COLLATE "C" NOT NULL,
    run               uuid NOT NULL,
    state             text COLLATE "C" NOT NULL CHECK (state IN ('running', 'complete', 'failing', 'failed', 'removing')),
    traceparent       text COLLATE "C" NOT NULL,
    requested_at      timestamptz NOT NULL,
    ended_at          timestamptz,
    due_at            timestamptz NOT NULL,
    walking           boolean NOT NULL,
    after_key         text COLLATE "C" NOT NULL,
    after_section     text COLLATE "C" NOT NULL,
    began_at_sequence bigint NOT NULL CHECK (began_at_sequence >= 0),
    after_sequence    bigint NOT NULL CHECK (after_sequence >= began_at_sequence),
    sequence          bigint CHECK (sequence >= after_sequence),
    parts             integer NOT NULL CHECK (parts >= 0),
    lines             bigint NOT NULL CHECK (lines >= 0),
    length            bigint NOT NULL CHECK (length >= 0),
    attempts          integer NOT NULL CHECK (attempts >= 0),
    failure           text COLLATE "C",
    failed_key        text COLLATE "C",
    failed_section    text COLLATE "C",
    PRIMARY KEY (tenant_id, number, collection_id, snapshot_id),
    CHECK ((state = 'running') = (ended_at IS NULL)),
    CHECK (state <> 'complete' OR sequence IS NOT NULL)
);
CREATE UNIQUE INDEX snapshots_running ON snapshots (tenant_id, number, collection_id) WHERE state = 'running';
CREATE INDEX snapshots_due ON snapshots ((number::integer), due_at) WHERE state IN ('running', 'failing', 'removing');

-- The parts of a snapshot, in the order in which they are read. The object's key
-- follows from run, ordinal and digest.
CREATE TABLE snapshot_parts (
    tenant_id     uuid NOT NULL,
    number        smallint NOT NULL,
    collection_id uuid NOT NULL,
    snapshot_id   uuid NOT NULL,
    ordinal       integer NOT NULL CHECK (ordinal > 0),
    digest        bytea NOT NULL CHECK (octet_length(digest) = 32),
    length        bigint NOT NULL CHECK (length > 0),
    lines         integer NOT NULL CHECK (lines > 0),
    PRIMARY KEY (tenant_id, number, collection_id, snapshot_id, ordinal)
);

-- How many objects of a collection nothing referred to, and had not for long, when
-- all of them were listed last. It says nothing about which may go.
CREATE TABLE object_counts (
    tenant_id            uuid NOT NULL,
    number               smallint NOT NULL,
    collection_id        uuid NOT NULL,
    unreferenced_objects bigint NOT NULL CHECK (unreferenced_objects >= 0),
    unreferenced_bytes   bigint NOT NULL CHECK (unreferenced_bytes >= 0),
    counted_at           timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, number, collection_id)
);

-- Where a pass of the cleanup over one number stands. The cursor moves in the
-- transaction that reads a page, behind the page: a worker that dies then leaves it
-- to the next pass.
CREATE TABLE record_sweeps (
    task             text COLLATE "C" NOT NULL CHECK (task IN ('receipts', 'batches', 'claims')),
    number           smallint NOT NULL,
    after_time       timestamptz NOT NULL,
    after_tenant     uuid NOT NULL,
    after_collection uuid NOT NULL,
    after_name       text COLLATE "C" NOT NULL,
    pass_began_at    timestamptz,
    pass_ended_at    timestamptz,
    passes           bigint NOT NULL,
    visited          bigint NOT NULL,
    recovered        bigint NOT NULL,
    PRIMARY KEY (task, number)
);

-- Where the count of objects stands in one number: behind a collection, or, since
-- listing_since, within one, behind a key, with what was counted of it so far. turn
-- grows with each step: of two workers that make the same one, one moves it.
CREATE TABLE object_sweeps (
    number           smallint PRIMARY KEY,
    turn             bigint NOT NULL,
    after_tenant     uuid NOT NULL,
    after_collection uuid NOT NULL,
    listing_since    timestamptz,
    after_key        text COLLATE "C" NOT NULL,
    objects          bigint NOT NULL,
    bytes            bigint NOT NULL,
    pass_began_at    timestamptz,
    pass_ended_at    timestamptz,
    visited_at       timestamptz,
    passes           bigint NOT NULL,
    visited          bigint NOT NULL,
    recovered        bigint NOT NULL
);

-- They begin with an expression, as the others do that are not for keys.
CREATE INDEX collections_by_id ON collections ((number::integer), tenant_id, collection_id);
CREATE INDEX item_claims_by_expiry ON item_claims ((number::integer), expires_at);
CREATE INDEX object_counts_unreferenced ON object_counts ((number::integer)) WHERE unreferenced_objects > 0;

ALTER TABLE snapshots ENABLE ROW LEVEL SECURITY;
ALTER TABLE snapshots FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON snapshots USING (tenant_id = holdfast_tenant());
CREATE POLICY scanner ON snapshots FOR SELECT TO holdfast_scanner USING (true);
ALTER TABLE snapshot_parts ENABLE ROW LEVEL SECURITY;
ALTER TABLE snapshot_parts FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON snapshot_parts USING (tenant_id = holdfast_tenant());
ALTER TABLE object_counts ENABLE ROW LEVEL SECURITY;
ALTER TABLE object_counts FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON object_counts USING (tenant_id = holdfast_tenant());
CREATE POLICY scanner ON object_counts FOR SELECT TO holdfast_scanner USING (true);
ALTER TABLE record_sweeps ENABLE ROW LEVEL SECURITY;
ALTER TABLE record_sweeps FORCE ROW LEVEL SECURITY;
CREATE POLICY operator ON record_sweeps USING (holdfast_operator());
ALTER TABLE object_sweeps ENABLE ROW LEVEL SECURITY;
ALTER TABLE object_sweeps FORCE ROW LEVEL SECURITY;
CREATE POLICY operator ON object_sweeps USING (holdfast_operator());
CREATE POLICY scanner ON collections FOR SELECT TO holdfast_scanner USING (true);
CREATE POLICY scanner ON receipts FOR SELECT TO holdfast_scanner USING (true);
CREATE POLICY scanner ON batches FOR SELECT TO holdfast_scanner USING (true);
CREATE POLICY scanner ON item_claims FOR SELECT TO holdfast_scanner USING (true);
GRANT SELECT, INSERT ON snapshots TO holdfast_api;
GRANT SELECT ON snapshot_parts, object_counts, record_sweeps, object_sweeps TO holdfast_api;
GRANT SELECT, DELETE ON snapshots TO holdfast_worker;
GRANT UPDATE (state, ended_at, due_at, walking, after_key, after_section, after_sequence, sequence, parts, lines, length, attempts,
              failure, failed_key, failed_section) ON snapshots TO holdfast_worker;
GRANT SELECT, INSERT, DELETE ON snapshot_parts TO holdfast_worker;
GRANT SELECT, INSERT, UPDATE ON object_counts, record_sweeps, object_sweeps TO holdfast_worker;
GRANT SELECT (tenant_id, number, collection_id, snapshot_id, state, due_at) ON snapshots TO holdfast_scanner;
GRANT SELECT (tenant_id, number, collection_id, unreferenced_objects, unreferenced_bytes) ON object_counts TO holdfast_scanner;
GRANT SELECT (tenant_id, number, collection_id, record_format) ON collections TO holdfast_scanner;
GRANT SELECT (tenant_id, number, collection_id, operation_id, created_at) ON receipts TO holdfast_scanner;
GRANT SELECT (tenant_id, number, collection_id, batch_id, touched_at) ON batches TO holdfast_scanner;
GRANT SELECT (tenant_id, number, collection_id, item_key, expires_at) ON item_claims TO holdfast_scanner;
GRANT CREATE ON SCHEMA public TO holdfast_scanner;

-- Snapshots on which there is work to do, of tenants who are served: of each tenant
-- the one that has waited longest, from every number; and of those the ones that
-- have waited longest. The OFFSET keeps the planner from joining the numbers in
-- another order than by their snapshots.
-- +goose StatementBegin
CREATE FUNCTION upkeep_snapshots(p_now timestamptz, p_limit integer)
    RETURNS TABLE (due_at timestamptz, tenant_id uuid, number smallint, collection_id uuid, snapshot_id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT t.due_at, t.tenant_id, t.number, t.collection_id, t.snapshot_id
          FROM (SELECT DISTINCT ON (s.tenant_id) s.due_at, s.tenant_id, s.number, s.collection_id, s.snapshot_id
                  FROM number_gates n
                 CROSS JOIN LATERAL (SELECT s.due_at, s.tenant_id, s.number, s.collection_id, s.snapshot_id FROM snapshots s
                                       JOIN tenant_gates g ON g.tenant_id = s.tenant_id
                                      WHERE s.number::integer = n.number::integer AND s.state IN ('running', 'failing', 'removing')
                                        AND s.due_at <= p_now AND g.state = 'open' OFFSET 0) s
                 WHERE n.state = 'open'
                 ORDER BY s.tenant_id, s.due_at, s.snapshot_id) t
         ORDER BY t.due_at, t.tenant_id
         LIMIT p_limit;
    END;
-- +goose StatementEnd

-- The next three have the same form: a page of what was due at p_due, behind a
-- place.
-- +goose StatementBegin
CREATE FUNCTION upkeep_receipts(
    p_number smallint, p_due timestamptz,
    p_after_time timestamptz, p_after_tenant uuid, p_after_collection uuid, p_after_name text, p_limit integer
) RETURNS TABLE (due_at timestamptz, tenant_id uuid, collection_id uuid, name text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT r.created_at, r.tenant_id, r.collection_id, r.operation_id FROM receipts r
         WHERE r.number::integer = p_number::integer AND r.created_at <= p_due AND r.created_at >= p_after_time
           AND (r.created_at, r.tenant_id, r.collection_id, r.operation_id) > (p_after_time, p_after_tenant, p_after_collection, p_after_name)
         ORDER BY r.created_at, r.tenant_id, r.collection_id, r.operation_id
         LIMIT p_limit;
    END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION upkeep_batches(
    p_number smallint, p_due timestamptz,
    p_after_time timestamptz, p_after_tenant uuid, p_after_collection uuid, p_after_name text, p_limit integer
) RETURNS TABLE (due_at timestamptz, tenant_id uuid, collection_id uuid, name text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT b.touched_at, b.tenant_id, b.collection_id, b.batch_id FROM batches b
         WHERE b.number::integer = p_number::integer AND b.touched_at <= p_due AND b.touched_at >= p_after_time
           AND (b.touched_at, b.tenant_id, b.collection_id, b.batch_id) > (p_after_time, p_after_tenant, p_after_collection, p_after_name)
         ORDER BY b.touched_at, b.tenant_id, b.collection_id, b.batch_id
         LIMIT p_limit;
    END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION upkeep_claims(
    p_number smallint, p_due timestamptz,
    p_after_time timestamptz, p_after_tenant uuid, p_after_collection uuid, p_after_name text, p_limit integer
) RETURNS TABLE (due_at timestamptz, tenant_id uuid, collection_id uuid, name text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT i.expires_at, i.tenant_id, i.collection_id, i.item_key FROM item_claims i
         WHERE i.number::integer = p_number::integer AND i.expires_at <= p_due AND i.expires_at >= p_after_time
           AND (i.expires_at, i.tenant_id, i.collection_id, i.item_key) > (p_after_time, p_after_tenant, p_after_collection, p_after_name)
         ORDER BY i.expires_at, i.tenant_id, i.collection_id, i.item_key
         LIMIT p_limit;
    END;
-- +goose StatementEnd

-- A page of a number's collections, and which of them may have objects, of tenants
-- who are served.
-- +goose StatementBegin
CREATE FUNCTION upkeep_collections(p_number smallint, p_after_tenant uuid, p_after_collection uuid, p_limit integer)
    RETURNS TABLE (tenant_id uuid, collection_id uuid, has_objects boolean)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT c.tenant_id, c.collection_id,
               coalesce(g.state = 'open', false)
               AND (c.record_format = 2
                    OR EXISTS (SELECT FROM snapshots s
                                WHERE s.tenant_id = c.tenant_id AND s.number = c.number AND s.collection_id = c.collection_id)
                    OR EXISTS (SELECT FROM object_counts o
                                WHERE o.tenant_id = c.tenant_id AND o.number = c.number AND o.collection_id = c.collection_id))
          FROM (SELECT c.tenant_id, c.number, c.collection_id, c.record_format FROM collections c
                 WHERE c.number::integer = p_number::integer
                   AND (c.tenant_id, c.collection_id) > (p_after_tenant, p_after_collection)
                 ORDER BY c.tenant_id, c.collection_id LIMIT p_limit) c
          LEFT JOIN tenant_gates g ON g.tenant_id = c.tenant_id
         ORDER BY c.tenant_id, c.collection_id;
    END;
-- +goose StatementEnd

-- What all tenants' last counts come to, for the metrics.
-- +goose StatementBegin
CREATE FUNCTION upkeep_unreferenced() RETURNS TABLE (objects bigint, bytes bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT coalesce(sum(o.objects), 0)::bigint, coalesce(sum(o.bytes), 0)::bigint
          FROM number_gates n
         CROSS JOIN LATERAL (SELECT sum(o.unreferenced_objects) AS objects, sum(o.unreferenced_bytes) AS bytes FROM object_counts o
                              WHERE o.number::integer = n.number::integer AND o.unreferenced_objects > 0) o;
    END;
-- +goose StatementEnd

-- +goose StatementBegin
DO $$
DECLARE
    v_function regprocedure;
BEGIN
    FOR v_function IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.proname LIKE 'upkeep\_%' LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO holdfast_scanner', v_function);
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', v_function);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO holdfast_worker', v_function);
    END LOOP;
END $$;
-- +goose StatementEnd
REVOKE CREATE ON SCHEMA public FROM holdfast_scanner;
