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

-- A sealed collection is read where its format says, and nowhere else: a migration
-- that was verified has been closed. The way back breaks the seal.
ALTER TABLE collections ADD COLUMN sealed boolean NOT NULL DEFAULT false;

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
