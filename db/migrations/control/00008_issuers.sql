-- Issuers outside of Holdfast whose tokens a tenant has accepted: by the keys that
-- they publish, for one audience, with some scopes at most.

-- +goose Up

CREATE TABLE issuers (
    tenant_id    uuid NOT NULL,
    issuer_id    uuid NOT NULL,
    issuer       text COLLATE "C" NOT NULL,
    jwks_uri     text COLLATE "C" NOT NULL,
    audience     text COLLATE "C" NOT NULL,
    scopes       text[] COLLATE "C" NOT NULL,
    max_lifetime interval NOT NULL CHECK (max_lifetime BETWEEN interval '1 minute' AND interval '1 day'),
    fingerprint  bytea NOT NULL,
    created_at   timestamptz NOT NULL,
    disabled_at  timestamptz,
    PRIMARY KEY (tenant_id, issuer_id)
);
-- One tenant at a time trusts an issuer, or a token of it would be of two.
CREATE UNIQUE INDEX issuers_trusted ON issuers (issuer) WHERE disabled_at IS NULL;

ALTER TABLE issuers ENABLE ROW LEVEL SECURITY;
ALTER TABLE issuers FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON issuers USING (tenant_id = holdfast_tenant());
CREATE POLICY scanner ON issuers FOR SELECT TO holdfast_scanner USING (true);

-- As tenant_of_key: an issuer's name comes with a token whose tenant is not known
-- yet. The function tells which row it is and nothing else.
-- +goose StatementBegin
CREATE FUNCTION trusted_issuer(p_issuer text) RETURNS TABLE (tenant_id uuid, issuer_id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT i.tenant_id, i.issuer_id FROM issuers i WHERE i.issuer = p_issuer AND i.disabled_at IS NULL;
    END;
-- +goose StatementEnd
GRANT SELECT (tenant_id, issuer_id, issuer, disabled_at) ON issuers TO holdfast_scanner;
GRANT CREATE ON SCHEMA public TO holdfast_scanner;
ALTER FUNCTION trusted_issuer(text) OWNER TO holdfast_scanner;
REVOKE CREATE ON SCHEMA public FROM holdfast_scanner;
REVOKE EXECUTE ON FUNCTION trusted_issuer(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION trusted_issuer(text) TO holdfast_api;

GRANT SELECT, INSERT, UPDATE (disabled_at) ON issuers TO holdfast_api; -- what an issuer may vouch for never changes

-- As with clients: the check is swapped for a wider one, and an older process passes
-- over the new kind, whose tokens it accepts none of.
ALTER TABLE revocations DROP CONSTRAINT revocations_kind_check;
ALTER TABLE revocations ADD CONSTRAINT revocations_kind_check CHECK (kind IN ('key', 'principal', 'tenant', 'client', 'issuer'));
