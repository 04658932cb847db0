-- The keys that sign checkpoints of journals. A checkpoint is kept elsewhere and
-- may be shown in years, so no public half is ever forgotten.

-- +goose Up

-- A private half is sealed with a server key whose id stays beside it, and is
-- erased when its successor's successor is made.
CREATE TABLE checkpoint_keys (
    kid            text COLLATE "C" PRIMARY KEY,
    public_key     bytea NOT NULL CHECK (octet_length(public_key) = 32),
    sealed_private bytea,
    server_key_id  text,
    created_at     timestamptz NOT NULL,
    signs_from     timestamptz NOT NULL,
    CHECK ((sealed_private IS NULL) = (server_key_id IS NULL))
);

ALTER TABLE checkpoint_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE checkpoint_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY operator ON checkpoint_keys USING (holdfast_operator());
GRANT SELECT, INSERT, UPDATE (sealed_private, server_key_id) ON checkpoint_keys TO holdfast_api, holdfast_worker;

-- Whoever makes a key holds this until it is committed.
-- +goose StatementBegin
CREATE FUNCTION checkpoint_keys_lock() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN hashtextextended('holdfast/checkpoint-keys', 0);
-- +goose StatementEnd
