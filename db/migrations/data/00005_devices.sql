-- Devices: a record and its user code, through the same protocol as accounts.

-- +goose Up

-- user_code and expires_at, which is the code's, never change. An approved device
-- lives on behind its code. What the device shows (a device code, then a chain
-- of refresh tokens) is stored as a hash, with the server key that it derives
-- from. paced_at is the last poll that kept its distance, polled_at the last of
-- all.
CREATE TABLE devices (
    tenant_id          uuid NOT NULL,
    number             smallint NOT NULL,
    device_id          uuid NOT NULL,
    revision           bigint NOT NULL CHECK (revision > 0),
    status             text COLLATE "C" NOT NULL CHECK (status IN ('pending', 'approved', 'denied', 'revoked')),
    account_id         uuid,
    label              text COLLATE "C",
    client_id          uuid,
    scopes             text[] NOT NULL,
    user_code          text COLLATE "C",
    user_code_token    uuid,
    expires_at         timestamptz,
    secret_hash        bytea CHECK (octet_length(secret_hash) = 32),
    server_key_id      text COLLATE "C",
    poll_interval      smallint NOT NULL,
    polled_at          timestamptz,
    paced_at           timestamptz,
    refresh_generation bigint NOT NULL,
    refresh_hash       bytea CHECK (octet_length(refresh_hash) = 32),
    refresh_key_id     text COLLATE "C",
    refresh_expires_at timestamptz,
    fingerprint        bytea,
    created_at         timestamptz NOT NULL,
    updated_at         timestamptz NOT NULL,
    approved_at        timestamptz,
    redeemed_at        timestamptz,
    PRIMARY KEY (tenant_id, number, device_id),
    CHECK (status <> 'approved' OR (account_id IS NOT NULL AND approved_at IS NOT NULL)),
    CHECK (status NOT IN ('pending', 'denied') OR account_id IS NULL),
    CHECK ((user_code IS NULL) = (user_code_token IS NULL)),
    CHECK (user_code IS NULL OR expires_at IS NOT NULL),
    CHECK (refresh_hash IS NULL OR (status = 'approved' AND redeemed_at IS NOT NULL AND refresh_key_id IS NOT NULL AND refresh_expires_at IS NOT NULL))
);

-- An account's devices, in the account's bucket. A link is written before its
-- device commits the approval, and says nothing by itself: a reader asks the
-- device. confirmed tells a link whose device is known to agree.
CREATE TABLE account_devices (
    tenant_id  uuid NOT NULL,
    number     smallint NOT NULL,
    account_id uuid NOT NULL,
    device_id  uuid NOT NULL,
    confirmed  boolean NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, number, account_id, device_id)
);

-- When user codes were guessed: of an account, in its bucket, or of the whole
-- tenant (the all-zero subject), spread over the numbers.
CREATE TABLE code_guesses (
    tenant_id  uuid NOT NULL,
    number     smallint NOT NULL,
    subject    uuid NOT NULL,
    guessed_at timestamptz[] NOT NULL,
    kept_until timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, number, subject)
);

ALTER TABLE devices ENABLE ROW LEVEL SECURITY;
ALTER TABLE devices FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON devices USING (tenant_id = holdfast_tenant());
ALTER TABLE account_devices ENABLE ROW LEVEL SECURITY;
ALTER TABLE account_devices FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON account_devices USING (tenant_id = holdfast_tenant());
ALTER TABLE code_guesses ENABLE ROW LEVEL SECURITY;
ALTER TABLE code_guesses FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON code_guesses USING (tenant_id = holdfast_tenant());
GRANT SELECT, INSERT, UPDATE, DELETE ON devices, account_devices, code_guesses TO holdfast_api, holdfast_worker;
