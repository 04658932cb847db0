-- The control database: who the tenants are, who may call, and what is revoked.
-- A row belongs to a tenant or, with the all-zero id, to the operators.
-- The two holdfast_… functions stand in the data migrations too, word for word,
-- since control and data tables may share one database.

-- +goose Up

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION holdfast_tenant() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
    RETURN NULLIF(current_setting('holdfast.tenant', true), '')::uuid;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION holdfast_operator() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
    RETURN current_setting('holdfast.tenant', true) = '00000000-0000-0000-0000-000000000000';
-- +goose StatementEnd

-- Sets the tenant for row-level security until the transaction ends. A
-- session-level setting would leak to a pooler's next client.
-- +goose StatementBegin
CREATE FUNCTION enter_control(p_tenant uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('SET LOCAL holdfast.tenant = %L', p_tenant);
END $$;
-- +goose StatementEnd

-- Ids of what operators make derive from this key and from idempotency keys, so
-- it must never change: server keys rotate, this one doesn't. The row is also
-- the lock for what happens once an installation at a time.
CREATE TABLE installation (
    only_row boolean PRIMARY KEY CHECK (only_row),
    id_key   bytea NOT NULL CHECK (octet_length(id_key) = 32)
);
INSERT INTO installation VALUES (true, uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));

CREATE TABLE tenants (
    tenant_id      uuid PRIMARY KEY,
    name           text COLLATE "C" NOT NULL UNIQUE,
    state          text NOT NULL CHECK (state IN ('provisioning', 'active', 'suspended')),
    layout         text NOT NULL,
    identity_state text NOT NULL CHECK (identity_state IN ('open', 'importing')),
    handle_policy  text NOT NULL CHECK (handle_policy IN ('ascii', 'unicode')),
    id_key         bytea NOT NULL CHECK (octet_length(id_key) = 32),
    fingerprint    bytea NOT NULL,
    revision       bigint NOT NULL,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL
);

CREATE TABLE principals (
    tenant_id    uuid NOT NULL,
    principal_id uuid NOT NULL,
    name         text COLLATE "C" NOT NULL,
    scopes       text[] NOT NULL,
    fingerprint  bytea NOT NULL,
    created_at   timestamptz NOT NULL,
    disabled_at  timestamptz,
    PRIMARY KEY (tenant_id, principal_id),
    UNIQUE (tenant_id, name)
);

-- The secret derives from a server key, whose id stays beside it, or was given
-- by the configuration, and then there is no id.
CREATE TABLE api_keys (
    tenant_id     uuid NOT NULL,
    key_id        uuid NOT NULL,
    principal_id  uuid NOT NULL,
    label         text NOT NULL,
    secret_hash   bytea NOT NULL CHECK (octet_length(secret_hash) = 32),
    server_key_id text,
    fingerprint   bytea NOT NULL,
    created_at    timestamptz NOT NULL,
    expires_at    timestamptz,
    revoked_at    timestamptz,
    PRIMARY KEY (tenant_id, key_id),
    FOREIGN KEY (tenant_id, principal_id) REFERENCES principals (tenant_id, principal_id)
);
CREATE INDEX api_keys_by_id ON api_keys (key_id);
CREATE INDEX api_keys_by_principal ON api_keys (tenant_id, principal_id, key_id);

-- Private halves are sealed with a server key whose id stays beside them.
CREATE TABLE signing_keys (
    kid            text COLLATE "C" PRIMARY KEY,
    public_key     bytea NOT NULL CHECK (octet_length(public_key) = 32),
    sealed_private bytea NOT NULL,
    server_key_id  text NOT NULL,
    created_at     timestamptz NOT NULL,
    signs_from     timestamptz NOT NULL,
    signs_until    timestamptz NOT NULL,
    verifies_until timestamptz NOT NULL
);

-- The counter row is locked until commit by whoever revokes, so that the order
-- of numbers is the order of commits and a reader never passes a late one.
CREATE TABLE revocation_counter (
    only_row boolean PRIMARY KEY CHECK (only_row),
    value    bigint NOT NULL
);
INSERT INTO revocation_counter VALUES (true, 0);

CREATE TABLE revocations (
    sequence   bigint PRIMARY KEY,
    tenant_id  uuid NOT NULL,
    kind       text NOT NULL CHECK (kind IN ('key', 'principal', 'tenant')),
    subject    uuid NOT NULL,
    revoked_at timestamptz NOT NULL
);

ALTER TABLE installation ENABLE ROW LEVEL SECURITY;
ALTER TABLE installation FORCE ROW LEVEL SECURITY;
CREATE POLICY operator ON installation USING (holdfast_operator());
ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenants FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON tenants FOR SELECT USING (tenant_id = holdfast_tenant());
CREATE POLICY operator ON tenants USING (holdfast_operator());
ALTER TABLE principals ENABLE ROW LEVEL SECURITY;
ALTER TABLE principals FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON principals USING (tenant_id = holdfast_tenant());
ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE api_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON api_keys USING (tenant_id = holdfast_tenant());
CREATE POLICY scanner ON api_keys FOR SELECT TO holdfast_scanner USING (true);
ALTER TABLE signing_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE signing_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY operator ON signing_keys USING (holdfast_operator());
ALTER TABLE revocation_counter ENABLE ROW LEVEL SECURITY;
ALTER TABLE revocation_counter FORCE ROW LEVEL SECURITY;
CREATE POLICY operator ON revocation_counter USING (holdfast_operator());
ALTER TABLE revocations ENABLE ROW LEVEL SECURITY;
ALTER TABLE revocations FORCE ROW LEVEL SECURITY;
CREATE POLICY operator ON revocations USING (holdfast_operator());

-- A key's id comes from a caller whose tenant is not known yet. The function
-- tells whose it is and nothing else; the row is then read as that tenant.
-- +goose StatementBegin
CREATE FUNCTION tenant_of_key(p_key uuid) RETURNS uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT k.tenant_id FROM api_keys k WHERE k.key_id = p_key;
    END;
-- +goose StatementEnd
GRANT SELECT ON api_keys TO holdfast_scanner;
GRANT CREATE ON SCHEMA public TO holdfast_scanner;
ALTER FUNCTION tenant_of_key(uuid) OWNER TO holdfast_scanner;
REVOKE CREATE ON SCHEMA public FROM holdfast_scanner;
REVOKE EXECUTE ON FUNCTION tenant_of_key(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tenant_of_key(uuid) TO holdfast_api;

GRANT SELECT, UPDATE (only_row) ON installation TO holdfast_api; -- a row lock takes the right to update something
GRANT SELECT, INSERT, UPDATE ON tenants, principals, api_keys, signing_keys TO holdfast_api;
GRANT DELETE ON signing_keys TO holdfast_api;
GRANT SELECT, UPDATE ON revocation_counter TO holdfast_api;
GRANT SELECT, INSERT, DELETE ON revocations TO holdfast_api;
