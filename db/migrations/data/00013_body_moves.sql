-- The migration domain, as far as it must commit with the records that it moves:
-- each collection's part of a migration stands beside the collection.

-- +goose Up

-- A collection's part of a migration, by the plan that it was activated for. The
-- row is made when the collection's format is switched, and from then on each
-- transaction that moves records compares the token and draws the next: of two
-- workers one commits, and the other starts over. While it is held, none does;
-- held_at is the revision of the migration by which it was held or let go, and only
-- goes forward, so that of a pause and a resumption the later counts.
--
-- Bodies go from SQL into the store in the order of their rows' identities up to
-- frontier, the last one at the switch; the way back goes by item key. after_row
-- and after_key are where the sweep is that goes on. Counters are of what was
-- committed, so they add up however often a run was interrupted; retries are the
-- tries of passes that were made over.
CREATE TABLE migration_checkpoints (
    tenant_id     uuid NOT NULL,
    number        smallint NOT NULL,
    collection_id uuid NOT NULL,
    collection    text COLLATE "C" NOT NULL,
    migration_id  uuid NOT NULL,
    kind          text COLLATE "C" NOT NULL CHECK (kind IN ('record_bodies', 'rehydrate')),
    plan_hash     bytea NOT NULL CHECK (octet_length(plan_hash) = 32),
    build         text COLLATE "C" NOT NULL,
    token         uuid NOT NULL,
    held          boolean NOT NULL,
    held_at       bigint NOT NULL CHECK (held_at > 0),
    frontier      bigint NOT NULL CHECK (frontier >= 0),
    after_row     bigint NOT NULL CHECK (after_row >= 0),
    after_key     text COLLATE "C" NOT NULL,
    sweep         integer NOT NULL CHECK (sweep > 0),
    sweep_moved   bigint NOT NULL CHECK (sweep_moved >= 0),
    passes        bigint NOT NULL CHECK (passes >= 0),
    inspected     bigint NOT NULL CHECK (inspected >= 0),
    moved         bigint NOT NULL CHECK (moved >= 0),
    bodies        bigint NOT NULL CHECK (bodies >= 0),
    bytes         bigint NOT NULL CHECK (bytes >= 0),
    uploads       bigint NOT NULL CHECK (uploads >= 0),
    reuses        bigint NOT NULL CHECK (reuses >= 0),
    raced         bigint NOT NULL CHECK (raced >= 0),
    retries       bigint NOT NULL CHECK (retries >= 0),
    activated_at  timestamptz NOT NULL,
    moved_at      timestamptz NOT NULL,
    drained_at    timestamptz,
    closed_at     timestamptz,
    PRIMARY KEY (tenant_id, number, collection_id),
    CHECK (closed_at IS NULL OR drained_at IS NOT NULL)
) WITH (fillfactor = 50);

-- Records that a pass could not move since what they have isn't what it should be.
-- None is skipped for good: a retry is asked for, or the section is published anew.
CREATE TABLE migration_deferred (
    tenant_id     uuid NOT NULL,
    number        smallint NOT NULL,
    collection_id uuid NOT NULL,
    item_key      text COLLATE "C" NOT NULL,
    section       text COLLATE "C" NOT NULL,
    reason        text COLLATE "C" NOT NULL,
    attempts      integer NOT NULL CHECK (attempts > 0),
    retry         boolean NOT NULL,
    first_at      timestamptz NOT NULL,
    last_at       timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, number, collection_id, item_key, section)
);

-- A sealed collection is read where its format says, and nowhere else. Every one is
-- made sealed; a change of its format breaks the seal, and it is sealed again when
-- nothing is left in the former format, and the migration is closed.
ALTER TABLE collections ADD COLUMN sealed boolean NOT NULL DEFAULT true;

ALTER TABLE migration_checkpoints ENABLE ROW LEVEL SECURITY;
ALTER TABLE migration_checkpoints FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON migration_checkpoints USING (tenant_id = holdfast_tenant());
ALTER TABLE migration_deferred ENABLE ROW LEVEL SECURITY;
ALTER TABLE migration_deferred FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON migration_deferred USING (tenant_id = holdfast_tenant());
GRANT SELECT, INSERT, UPDATE, DELETE ON migration_checkpoints, migration_deferred TO holdfast_api, holdfast_worker;
GRANT UPDATE (record_format, sealed) ON collections TO holdfast_api;
GRANT DELETE ON sections_in_store TO holdfast_api;
GRANT UPDATE (row_identity, token) ON collections TO holdfast_worker;
GRANT INSERT, DELETE ON sections_in_sql, sections_in_store, section_chunks TO holdfast_worker;

-- upkeep_collections: a collection that has come back from the object store may have
-- objects there, to which nothing refers any more.
CREATE POLICY scanner ON migration_checkpoints FOR SELECT TO holdfast_scanner USING (true);
GRANT SELECT (tenant_id, number, collection_id) ON migration_checkpoints TO holdfast_scanner;
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION upkeep_collections(p_number smallint, p_after_tenant uuid, p_after_collection uuid, p_limit integer)
    RETURNS TABLE (tenant_id uuid, collection_id uuid, has_objects boolean)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT c.tenant_id, c.collection_id,
               coalesce(g.state = 'open', false)
               AND (c.record_format = 2
                    OR EXISTS (SELECT FROM snapshots s
                                WHERE s.tenant_id = c.tenant_id AND s.number = c.number AND s.collection_id = c.collection_id)
                    OR EXISTS (SELECT FROM object_counts o
                                WHERE o.tenant_id = c.tenant_id AND o.number = c.number AND o.collection_id = c.collection_id)
                    OR EXISTS (SELECT FROM migration_checkpoints m
                                WHERE m.tenant_id = c.tenant_id AND m.number = c.number AND m.collection_id = c.collection_id))
          FROM (SELECT c.tenant_id, c.number, c.collection_id, c.record_format FROM collections c
                 WHERE c.number::integer = p_number::integer
                   AND (c.tenant_id, c.collection_id) > (p_after_tenant, p_after_collection)
                 ORDER BY c.tenant_id, c.collection_id LIMIT p_limit) c
          LEFT JOIN tenant_gates g ON g.tenant_id = c.tenant_id
         ORDER BY c.tenant_id, c.collection_id;
    END;
-- +goose StatementEnd
