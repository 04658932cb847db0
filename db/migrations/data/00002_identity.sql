-- The identity domain. A record and what decides about it (its operation, its
-- pending email change) stand in the bucket of its id; a claim stands in the
-- bucket of its key.

-- +goose Up

-- Committed accounts only: one whose creation is still prepared is an operation.
-- A tombstone (status 'deleted') keeps its handle, the handle's claims, the
-- fingerprint of its creation, and nothing personal else.
CREATE TABLE accounts (
    tenant_id          uuid NOT NULL,
    number             smallint NOT NULL,
    account_id         uuid NOT NULL,
    revision           bigint NOT NULL CHECK (revision > 0),
    status             text COLLATE "C" NOT NULL CHECK (status IN ('active', 'disabled', 'deleted')),
    handle             text COLLATE "C" NOT NULL,
    handle_key         text COLLATE "C" NOT NULL,
    handle_token       uuid NOT NULL,
    skeleton_key       text COLLATE "C",
    skeleton_token     uuid,
    email              text COLLATE "C",
    email_key          text COLLATE "C",
    email_token        uuid,
    email_verified_at  timestamptz,
    display_name       text COLLATE "C",
    attributes         json NOT NULL,
    fingerprint        bytea,
    created_at         timestamptz NOT NULL,
    updated_at         timestamptz NOT NULL,
    deleted_at         timestamptz,
    quarantined_until  timestamptz,
    PRIMARY KEY (tenant_id, number, account_id),
    CHECK ((skeleton_key IS NULL) = (skeleton_token IS NULL)),
    CHECK ((email_key IS NULL) = (email_token IS NULL) AND (email_key IS NULL) = (email_verified_at IS NULL)),
    CHECK (status <> 'deleted' OR (email_key IS NULL AND display_name IS NULL AND deleted_at IS NOT NULL))
);

-- One pending change of an account's email. The code is derived from a server
-- key, shown once, and stored hashed. An unverified address is never claimed.
CREATE TABLE email_changes (
    tenant_id     uuid NOT NULL,
    number        smallint NOT NULL,
    account_id    uuid NOT NULL,
    change_id     uuid NOT NULL,
    email         text COLLATE "C" NOT NULL,
    email_key     text COLLATE "C" NOT NULL,
    code_hash     bytea NOT NULL CHECK (octet_length(code_hash) = 32),
    server_key_id text NOT NULL,
    wrong_codes   smallint NOT NULL,
    created_at    timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, number, account_id)
);

-- A prepared change whose lookup keys live in other buckets; at most one a
-- record. It is gone once the change is finalized.
CREATE TABLE operations (
    tenant_id     uuid NOT NULL,
    number        smallint NOT NULL,
    family        text COLLATE "C" NOT NULL,
    record_id     uuid NOT NULL,
    token         uuid NOT NULL,
    state         text COLLATE "C" NOT NULL CHECK (state IN ('prepared', 'aborted', 'committed')),
    deadline      timestamptz NOT NULL,
    base_revision bigint NOT NULL,
    proposal      json NOT NULL,
    new_links     json NOT NULL,
    old_links     json NOT NULL,
    fingerprint   bytea,
    traceparent   text NOT NULL,
    PRIMARY KEY (tenant_id, number, family, record_id)
);
-- For the sweeps, as claims_by_owner below.
CREATE INDEX operations_by_deadline ON operations ((number::integer), deadline);

-- A claim gives one lookup key to one owner under one operation's token.
-- rules is the version of the canonicalization that made the key.
CREATE TABLE claims (
    tenant_id    uuid NOT NULL,
    number       smallint NOT NULL,
    family       text COLLATE "C" NOT NULL,
    key          text COLLATE "C" NOT NULL,
    owner_family text COLLATE "C" NOT NULL,
    owner_id     uuid NOT NULL,
    token        uuid NOT NULL,
    rules        smallint NOT NULL,
    expires_at   timestamptz,
    PRIMARY KEY (tenant_id, number, family, key)
);
-- For the sweeps. The indexes that are not for keys begin with an expression, so
-- that no plan takes them for a look-up by key, some columns of which they have:
-- a plan made while there are few rows would read the whole bucket ever after.
CREATE INDEX claims_by_owner ON claims ((number::integer), family, tenant_id, owner_id, token);

ALTER TABLE accounts ENABLE ROW LEVEL SECURITY;
ALTER TABLE accounts FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON accounts USING (tenant_id = holdfast_tenant());
ALTER TABLE email_changes ENABLE ROW LEVEL SECURITY;
ALTER TABLE email_changes FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON email_changes USING (tenant_id = holdfast_tenant());
ALTER TABLE operations ENABLE ROW LEVEL SECURITY;
ALTER TABLE operations FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON operations USING (tenant_id = holdfast_tenant());
CREATE POLICY scanner ON operations FOR SELECT TO holdfast_scanner USING (true);
ALTER TABLE claims ENABLE ROW LEVEL SECURITY;
ALTER TABLE claims FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON claims USING (tenant_id = holdfast_tenant());
CREATE POLICY scanner ON claims FOR SELECT TO holdfast_scanner USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON accounts, email_changes, operations, claims TO holdfast_api, holdfast_worker;
