-- The record domain: collections, their records by item key, the sections of
-- each, and what decides about them. Everything of a collection stands in the
-- number of its name, and so does the world that it may be bound to.

-- +goose Up

-- A collection. Whatever commits in it locks its row, and so learns its format,
-- and takes its place in the order of the collection's changes.
--
-- world_id is the world whose lease a change needs; NULL for none. profile is
-- canonical JSON. The counters only grow: export_sequence numbers changes,
-- row_identity the rows of sections_in_sql, claim_generation the claims of items.
-- token is drawn by each transaction that changes anything in the collection: who
-- finds another than it saw knows that its decision rests on what is no more.
CREATE TABLE collections (
    tenant_id        uuid NOT NULL,
    number           smallint NOT NULL,
    collection       text COLLATE "C" NOT NULL CHECK (octet_length(collection) BETWEEN 1 AND 200),
    collection_id    uuid NOT NULL,
    record_format    smallint NOT NULL CHECK (record_format IN (1, 2)),
    world_id         text COLLATE "C",
    profile          text COLLATE "C" NOT NULL,
    export_sequence  bigint NOT NULL CHECK (export_sequence >= 0),
    row_identity     bigint NOT NULL CHECK (row_identity >= 0),
    claim_generation bigint NOT NULL CHECK (claim_generation >= 0),
    token            uuid NOT NULL,
    created_at       timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, number, collection)
) WITH (fillfactor = 50);

-- A record: a tuple of sections under an item key, with one revision. It stays
-- when its last section is tombstoned, so that its revision only grows.
CREATE TABLE records (
    tenant_id     uuid NOT NULL,
    number        smallint NOT NULL,
    collection_id uuid NOT NULL,
    item_key      text COLLATE "C" NOT NULL CHECK (octet_length(item_key) BETWEEN 1 AND 500),
    revision      bigint NOT NULL CHECK (revision > 0),
    live          boolean NOT NULL,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, number, collection_id, item_key)
) WITH (fillfactor = 80);

-- Format 1: a section whose body, if it is live, is here whole or in chunks. A
-- live empty body has a digest; a tombstone has none.
CREATE TABLE sections_in_sql (
    tenant_id       uuid NOT NULL,
    number          smallint NOT NULL,
    collection_id   uuid NOT NULL,
    item_key        text COLLATE "C" NOT NULL,
    section         text COLLATE "C" NOT NULL,
    row_identity    bigint NOT NULL CHECK (row_identity > 0),
    live            boolean NOT NULL,
    digest          bytea,
    length          bigint NOT NULL,
    content         bytea,
    chunks          integer NOT NULL,
    producer        text COLLATE "C" NOT NULL,
    export_sequence bigint NOT NULL CHECK (export_sequence > 0),
    updated_at      timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, number, collection_id, item_key, section),
    CONSTRAINT sections_in_sql_honest CHECK (CASE WHEN live
        THEN digest IS NOT NULL AND octet_length(digest) = 32 AND length >= 0
             AND CASE WHEN length <= 524288
                 THEN content IS NOT NULL AND octet_length(content) = length AND chunks = 0
                 ELSE content IS NULL AND chunks = (length + 524287) / 524288 END
        ELSE digest IS NULL AND length = 0 AND content IS NULL AND chunks = 0 END)
);

-- What a body of more than 512 KiB consists of, in its order from 0.
CREATE TABLE section_chunks (
    tenant_id     uuid NOT NULL,
    number        smallint NOT NULL,
    collection_id uuid NOT NULL,
    item_key      text COLLATE "C" NOT NULL,
    section       text COLLATE "C" NOT NULL,
    ordinal       integer NOT NULL CHECK (ordinal >= 0),
    content       bytea NOT NULL CHECK (octet_length(content) BETWEEN 1 AND 524288),
    PRIMARY KEY (tenant_id, number, collection_id, item_key, section, ordinal)
);

-- Format 2: a section whose body, if it is live, is an object that was verified.
-- The object's key follows from digest and generation, and is stored nowhere.
CREATE TABLE sections_in_store (
    tenant_id       uuid NOT NULL,
    number          smallint NOT NULL,
    collection_id   uuid NOT NULL,
    item_key        text COLLATE "C" NOT NULL,
    section         text COLLATE "C" NOT NULL,
    live            boolean NOT NULL,
    digest          bytea,
    length          bigint NOT NULL,
    generation      integer,
    producer        text COLLATE "C" NOT NULL,
    export_sequence bigint NOT NULL CHECK (export_sequence > 0),
    updated_at      timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, number, collection_id, item_key, section),
    CONSTRAINT sections_in_store_honest CHECK (CASE WHEN live
        THEN digest IS NOT NULL AND octet_length(digest) = 32 AND length >= 0 AND generation IS NOT NULL AND generation >= 0
        ELSE digest IS NULL AND length = 0 AND generation IS NULL END)
);
-- The indexes that are not for keys begin with an expression, so that no plan
-- takes them for a look-up by key.
CREATE INDEX sections_in_sql_by_row ON sections_in_sql ((number::integer), tenant_id, collection_id, row_identity);
CREATE INDEX sections_in_store_by_digest ON sections_in_store ((number::integer), tenant_id, collection_id, digest) WHERE live;

-- The export feed: where the latest change of each section stands in its
-- collection's order. It says nothing of where a body is.
CREATE TABLE export_entries (
    tenant_id       uuid NOT NULL,
    number          smallint NOT NULL,
    collection_id   uuid NOT NULL,
    section         text COLLATE "C" NOT NULL,
    export_sequence bigint NOT NULL CHECK (export_sequence > 0),
    item_key        text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, number, collection_id, section, export_sequence)
);

-- What became of an operation, for whoever asks again with its id. The
-- fingerprint is of what was asked.
CREATE TABLE receipts (
    tenant_id     uuid NOT NULL,
    number        smallint NOT NULL,
    collection_id uuid NOT NULL,
    operation_id  text COLLATE "C" NOT NULL,
    fingerprint   bytea NOT NULL CHECK (octet_length(fingerprint) = 32),
    receipt       json NOT NULL,
    created_at    timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, number, collection_id, operation_id)
);
CREATE INDEX receipts_by_age ON receipts ((number::integer), created_at);

-- The newest revision that was published under a fence key.
CREATE TABLE fences (
    tenant_id      uuid NOT NULL,
    number         smallint NOT NULL,
    collection_id  uuid NOT NULL,
    fence_key      text COLLATE "C" NOT NULL,
    fence_revision bigint NOT NULL CHECK (fence_revision > 0),
    item_key       text COLLATE "C" NOT NULL,
    content        bytea NOT NULL CHECK (octet_length(content) = 32),
    updated_at     timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, number, collection_id, fence_key)
) WITH (fillfactor = 80);

-- Items that a producer has claimed to work on, and what became of each.
-- generation is that of the batch's last claim.
CREATE TABLE batches (
    tenant_id      uuid NOT NULL,
    number         smallint NOT NULL,
    collection_id  uuid NOT NULL,
    batch_id       text COLLATE "C" NOT NULL,
    owner          text COLLATE "C" NOT NULL,
    principal_id   uuid NOT NULL,
    generation     bigint NOT NULL CHECK (generation > 0),
    term_seconds   integer NOT NULL CHECK (term_seconds > 0),
    created_at     timestamptz NOT NULL,
    touched_at     timestamptz NOT NULL,
    completed_at   timestamptz,
    PRIMARY KEY (tenant_id, number, collection_id, batch_id)
);
CREATE INDEX batches_by_age ON batches ((number::integer), touched_at);

CREATE TABLE batch_items (
    tenant_id     uuid NOT NULL,
    number        smallint NOT NULL,
    collection_id uuid NOT NULL,
    batch_id      text COLLATE "C" NOT NULL,
    item_key      text COLLATE "C" NOT NULL,
    generation    bigint NOT NULL CHECK (generation > 0),
    expires_at    timestamptz NOT NULL,
    outcome       text COLLATE "C" CHECK (outcome IN ('published', 'superseded', 'conflict', 'lease_expired', 'released')),
    PRIMARY KEY (tenant_id, number, collection_id, batch_id, item_key)
);

-- Which batch has an item now: one at a time. The claim that a batch has lost is
-- known by its generation.
CREATE TABLE item_claims (
    tenant_id     uuid NOT NULL,
    number        smallint NOT NULL,
    collection_id uuid NOT NULL,
    item_key      text COLLATE "C" NOT NULL,
    batch_id      text COLLATE "C" NOT NULL,
    generation    bigint NOT NULL CHECK (generation > 0),
    expires_at    timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, number, collection_id, item_key)
);

ALTER TABLE collections ENABLE ROW LEVEL SECURITY;
ALTER TABLE collections FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON collections USING (tenant_id = holdfast_tenant());
ALTER TABLE records ENABLE ROW LEVEL SECURITY;
ALTER TABLE records FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON records USING (tenant_id = holdfast_tenant());
ALTER TABLE sections_in_sql ENABLE ROW LEVEL SECURITY;
ALTER TABLE sections_in_sql FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON sections_in_sql USING (tenant_id = holdfast_tenant());
ALTER TABLE section_chunks ENABLE ROW LEVEL SECURITY;
ALTER TABLE section_chunks FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON section_chunks USING (tenant_id = holdfast_tenant());
ALTER TABLE sections_in_store ENABLE ROW LEVEL SECURITY;
ALTER TABLE sections_in_store FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON sections_in_store USING (tenant_id = holdfast_tenant());
ALTER TABLE export_entries ENABLE ROW LEVEL SECURITY;
ALTER TABLE export_entries FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON export_entries USING (tenant_id = holdfast_tenant());
ALTER TABLE receipts ENABLE ROW LEVEL SECURITY;
ALTER TABLE receipts FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON receipts USING (tenant_id = holdfast_tenant());
ALTER TABLE fences ENABLE ROW LEVEL SECURITY;
ALTER TABLE fences FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON fences USING (tenant_id = holdfast_tenant());
ALTER TABLE batches ENABLE ROW LEVEL SECURITY;
ALTER TABLE batches FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON batches USING (tenant_id = holdfast_tenant());
ALTER TABLE batch_items ENABLE ROW LEVEL SECURITY;
ALTER TABLE batch_items FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON batch_items USING (tenant_id = holdfast_tenant());
ALTER TABLE item_claims ENABLE ROW LEVEL SECURITY;
ALTER TABLE item_claims FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON item_claims USING (tenant_id = holdfast_tenant());

-- The API's role writes; the worker's reads, for snapshots and for the check, and
-- removes what has had its time. What a collection is stays as it was made.
GRANT SELECT, INSERT, UPDATE (export_sequence, row_identity, claim_generation, token) ON collections TO holdfast_api;
GRANT SELECT, INSERT, UPDATE ON records, sections_in_store, fences, batches, batch_items TO holdfast_api;
GRANT SELECT, INSERT, DELETE ON section_chunks, export_entries TO holdfast_api;
GRANT SELECT, INSERT ON receipts TO holdfast_api;
GRANT SELECT, INSERT, UPDATE, DELETE ON sections_in_sql, item_claims TO holdfast_api;
GRANT SELECT, UPDATE (token) ON collections TO holdfast_worker;
GRANT SELECT ON records, sections_in_sql, section_chunks, sections_in_store, export_entries, fences TO holdfast_worker;
GRANT SELECT, DELETE ON receipts, batches, batch_items, item_claims TO holdfast_worker;
