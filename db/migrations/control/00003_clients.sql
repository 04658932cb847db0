-- Public OAuth clients: programs on the devices of a tenant's users, which show
-- their id and no secret.

-- +goose Up

CREATE TABLE clients (
    tenant_id        uuid NOT NULL,
    client_id        uuid NOT NULL,
    name             text COLLATE "C" NOT NULL,
    scopes           text[] NOT NULL,
    verification_uri text NOT NULL,
    fingerprint      bytea NOT NULL,
    created_at       timestamptz NOT NULL,
    disabled_at      timestamptz,
    PRIMARY KEY (tenant_id, client_id),
    UNIQUE (tenant_id, name)
);
CREATE INDEX clients_by_id ON clients (client_id);

ALTER TABLE clients ENABLE ROW LEVEL SECURITY;
ALTER TABLE clients FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON clients USING (tenant_id = holdfast_tenant());
CREATE POLICY scanner ON clients FOR SELECT TO holdfast_scanner USING (true);

-- As tenant_of_key: a client's id comes from a caller whose tenant is not known
-- yet. The function tells whose it is and nothing else.
-- +goose StatementBegin
CREATE FUNCTION tenant_of_client(p_client uuid) RETURNS uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT c.tenant_id FROM clients c WHERE c.client_id = p_client;
    END;
-- +goose StatementEnd
GRANT SELECT ON clients TO holdfast_scanner;
GRANT CREATE ON SCHEMA public TO holdfast_scanner;
ALTER FUNCTION tenant_of_client(uuid) OWNER TO holdfast_scanner;
REVOKE CREATE ON SCHEMA public FROM holdfast_scanner;
REVOKE EXECUTE ON FUNCTION tenant_of_client(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tenant_of_client(uuid) TO holdfast_api;

GRANT SELECT, INSERT, UPDATE (disabled_at) ON clients TO holdfast_api; -- what a client may do never changes

-- A process that was started before this one passes over the new kind, and may:
-- it serves no public client. The check is swapped for a wider one, so the rows
-- that are there stay valid.
ALTER TABLE revocations DROP CONSTRAINT revocations_kind_check;
ALTER TABLE revocations ADD CONSTRAINT revocations_kind_check CHECK (kind IN ('key', 'principal', 'tenant', 'client'));
