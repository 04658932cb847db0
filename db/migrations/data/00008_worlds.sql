-- The lease domain: worlds, their journals, and what stands beside a head.
-- Everything of a world stands in the number of its id.

-- +goose Up

-- A world's head: where its journal ends, and who may write. It follows from the
-- journal, but for the lease's secret and what belongs to its request. A world
-- that is deleted is retired: its row keeps the id from being used again.
--
-- holder_issuer and holder_subject are NULL while the coordinator holds, which is
-- no principal. Nothing that changes with every append has an index, and a page
-- has room for new versions of its rows.
CREATE TABLE worlds (
    tenant_id        uuid NOT NULL,
    number           smallint NOT NULL,
    world_id         text COLLATE "C" NOT NULL,
    position         bigint NOT NULL CHECK (position > 0),
    epoch            bigint NOT NULL CHECK (epoch > 0),
    holder_issuer    text COLLATE "C",
    holder_subject   text COLLATE "C",
    secret_hash      bytea CHECK (octet_length(secret_hash) = 32),
    server_key_id    text COLLATE "C",
    request_id       text COLLATE "C",
    term_seconds     integer,
    expires_at       timestamptz,
    activate_by      timestamptz,
    activated        boolean NOT NULL,
    granted_position bigint NOT NULL CHECK (granted_position BETWEEN 1 AND position),
    granted_hash     bytea NOT NULL CHECK (octet_length(granted_hash) = 32),
    renewed_position bigint NOT NULL CHECK (renewed_position BETWEEN granted_position AND position),
    written_position bigint NOT NULL CHECK (written_position BETWEEN granted_position AND position),
    expired_epoch    bigint CHECK (expired_epoch < epoch),
    chain_hash       bytea NOT NULL CHECK (octet_length(chain_hash) = 32),
    last_at          timestamptz NOT NULL,
    rejected         boolean NOT NULL,
    awaited          boolean NOT NULL,
    retired          boolean NOT NULL,
    advise_spill     boolean NOT NULL,
    created_at       timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, number, world_id),
    CHECK ((holder_issuer IS NULL) = (holder_subject IS NULL)),
    CHECK ((holder_issuer IS NULL) = (secret_hash IS NULL) AND (secret_hash IS NULL) = (server_key_id IS NULL)
           AND (secret_hash IS NULL) = (request_id IS NULL)),
    CHECK ((holder_issuer IS NULL) = (term_seconds IS NULL) AND (term_seconds IS NULL) = (expires_at IS NULL)),
    CHECK ((term_seconds IS NULL) = (activate_by IS NULL)),
    CHECK (holder_issuer IS NOT NULL OR activated),
    CHECK (NOT retired OR holder_issuer IS NULL)
) WITH (fillfactor = 50);
-- For the sweep: the worlds that a node holds. It begins with an expression, so
-- that no plan takes it for a look-up by key.
CREATE INDEX worlds_held ON worlds ((number::integer), tenant_id, world_id) WHERE holder_issuer IS NOT NULL;

-- One row an entry, as it was hashed. details are the kind's own fields, canonical
-- (RFC 8785), and stay text so that they keep their bytes.
CREATE TABLE journal (
    tenant_id     uuid NOT NULL,
    number        smallint NOT NULL,
    world_id      text COLLATE "C" NOT NULL,
    position      bigint NOT NULL CHECK (position > 0),
    epoch         bigint NOT NULL CHECK (epoch > 0),
    kind          text COLLATE "C" NOT NULL,
    actor_type    text COLLATE "C" NOT NULL,
    actor_issuer  text COLLATE "C" NOT NULL,
    actor_subject text COLLATE "C" NOT NULL,
    entry_id      text COLLATE "C",
    at            timestamptz NOT NULL,
    details       text COLLATE "C" NOT NULL,
    payload       bytea NOT NULL,
    chain_hash    bytea NOT NULL CHECK (octet_length(chain_hash) = 32),
    PRIMARY KEY (tenant_id, number, world_id, position),
    CHECK (kind = 'entry' OR (entry_id IS NULL AND octet_length(payload) = 0))
);
-- An entry id is used once in its world, for good, whatever becomes of its entry's
-- row. It is a table and not an index of the journal: two indexes that begin alike
-- are one too many for a plan that was made while there were few rows.
CREATE TABLE entry_ids (
    tenant_id uuid NOT NULL,
    number    smallint NOT NULL,
    world_id  text COLLATE "C" NOT NULL,
    entry_id  text COLLATE "C" NOT NULL,
    position  bigint NOT NULL CHECK (position > 0),
    PRIMARY KEY (tenant_id, number, world_id, entry_id)
);

-- Which entry made the writer of an epoch.
CREATE TABLE lease_epochs (
    tenant_id uuid NOT NULL,
    number    smallint NOT NULL,
    world_id  text COLLATE "C" NOT NULL,
    epoch     bigint NOT NULL CHECK (epoch > 0),
    position  bigint NOT NULL CHECK (position > 0),
    PRIMARY KEY (tenant_id, number, world_id, epoch)
);

-- Rejected appends that are counted but not journaled yet, by who presented what.
-- A row stays for as long as its next rejection would be counted.
CREATE TABLE append_rejections (
    tenant_id       uuid NOT NULL,
    number          smallint NOT NULL,
    world_id        text COLLATE "C" NOT NULL,
    actor_issuer    text COLLATE "C" NOT NULL,
    actor_subject   text COLLATE "C" NOT NULL,
    presented_epoch bigint NOT NULL,
    pending         bigint NOT NULL CHECK (pending >= 0),
    first_at        timestamptz NOT NULL,
    last_at         timestamptz NOT NULL,
    journaled_at    timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, number, world_id, actor_issuer, actor_subject)
);

-- Who waits for a world's lease, first come, first served. A caller that has gone
-- no longer moves alive_until on, and is skipped.
CREATE TABLE lease_waiters (
    tenant_id        uuid NOT NULL,
    number           smallint NOT NULL,
    world_id         text COLLATE "C" NOT NULL,
    actor_issuer     text COLLATE "C" NOT NULL,
    actor_subject    text COLLATE "C" NOT NULL,
    request_id       text COLLATE "C" NOT NULL,
    ticket           bigint NOT NULL,
    term_seconds     integer NOT NULL,
    activate_seconds integer NOT NULL,
    alive_until      timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, number, world_id, actor_issuer, actor_subject, request_id)
);

ALTER TABLE worlds ENABLE ROW LEVEL SECURITY;
ALTER TABLE worlds FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON worlds USING (tenant_id = holdfast_tenant());
CREATE POLICY scanner ON worlds FOR SELECT TO holdfast_scanner USING (true);
ALTER TABLE journal ENABLE ROW LEVEL SECURITY;
ALTER TABLE journal FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON journal USING (tenant_id = holdfast_tenant());
ALTER TABLE entry_ids ENABLE ROW LEVEL SECURITY;
ALTER TABLE entry_ids FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON entry_ids USING (tenant_id = holdfast_tenant());
ALTER TABLE lease_epochs ENABLE ROW LEVEL SECURITY;
ALTER TABLE lease_epochs FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON lease_epochs USING (tenant_id = holdfast_tenant());
ALTER TABLE append_rejections ENABLE ROW LEVEL SECURITY;
ALTER TABLE append_rejections FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON append_rejections USING (tenant_id = holdfast_tenant());
CREATE POLICY scanner ON append_rejections FOR SELECT TO holdfast_scanner USING (true);
ALTER TABLE lease_waiters ENABLE ROW LEVEL SECURITY;
ALTER TABLE lease_waiters FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON lease_waiters USING (tenant_id = holdfast_tenant());
CREATE POLICY scanner ON lease_waiters FOR SELECT TO holdfast_scanner USING (true);
GRANT SELECT, INSERT, UPDATE ON worlds TO holdfast_api, holdfast_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON append_rejections, lease_waiters TO holdfast_api, holdfast_worker;
GRANT SELECT, INSERT ON journal, entry_ids, lease_epochs TO holdfast_api, holdfast_worker;
GRANT SELECT ON worlds, append_rejections, lease_waiters TO holdfast_scanner;
