-- The sweeps' progress, by family and number, and what they may see of all
-- tenants: identities, never contents.

-- +goose Up

-- The cursor moves in the transaction that reads a page, behind the page: a
-- worker that dies then leaves it to the next pass. It holds ids only.
CREATE TABLE sweeps (
    kind           text COLLATE "C" NOT NULL CHECK (kind IN ('operations', 'claims')),
    family         text COLLATE "C" NOT NULL,
    number         smallint NOT NULL,
    after_deadline timestamptz NOT NULL,
    after_tenant   uuid NOT NULL,
    after_record   uuid NOT NULL,
    after_token    uuid NOT NULL,
    pass_began_at  timestamptz,
    pass_ended_at  timestamptz,
    passes         bigint NOT NULL,
    visited        bigint NOT NULL,
    recovered      bigint NOT NULL,
    PRIMARY KEY (kind, family, number)
);
ALTER TABLE sweeps ENABLE ROW LEVEL SECURITY;
ALTER TABLE sweeps FORCE ROW LEVEL SECURITY;
CREATE POLICY operator ON sweeps USING (holdfast_operator());
GRANT SELECT, INSERT, UPDATE ON sweeps TO holdfast_worker;
GRANT SELECT ON sweeps TO holdfast_api;

GRANT SELECT ON operations, claims TO holdfast_scanner;
GRANT CREATE ON SCHEMA public TO holdfast_scanner;

-- Operations that somebody must finish, oldest deadline first.
-- +goose StatementBegin
CREATE FUNCTION sweep_operations(
    p_number smallint, p_family text, p_now timestamptz,
    p_after_deadline timestamptz, p_after_tenant uuid, p_after_record uuid, p_limit integer
) RETURNS TABLE (deadline timestamptz, tenant_id uuid, record_id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT o.deadline, o.tenant_id, o.record_id FROM operations o
         WHERE o.number::integer = p_number::integer AND o.family = p_family
           AND (o.deadline <= p_now OR o.state <> 'prepared')
           AND (o.deadline, o.tenant_id, o.record_id) > (p_after_deadline, p_after_tenant, p_after_record)
         ORDER BY o.deadline, o.tenant_id, o.record_id
         LIMIT p_limit;
    END;
-- +goose StatementEnd

-- A page of claims, by owner: whose they are, under which operation's token.
-- +goose StatementBegin
CREATE FUNCTION sweep_claims(
    p_number smallint, p_family text,
    p_after_tenant uuid, p_after_owner uuid, p_after_token uuid, p_limit integer
) RETURNS TABLE (tenant_id uuid, owner_family text, owner_id uuid, token uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT DISTINCT ON (c.tenant_id, c.owner_id, c.token) c.tenant_id, c.owner_family, c.owner_id, c.token FROM claims c
         WHERE c.number::integer = p_number::integer AND c.family = p_family
           AND (c.tenant_id, c.owner_id, c.token) > (p_after_tenant, p_after_owner, p_after_token)
         ORDER BY c.tenant_id, c.owner_id, c.token
         LIMIT p_limit;
    END;
-- +goose StatementEnd

-- How much unfinished work the database holds, for the metrics.
-- +goose StatementBegin
CREATE FUNCTION sweep_backlog() RETURNS TABLE (pending bigint, oldest_deadline timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT count(*), min(o.deadline) FROM operations o;
    END;
-- +goose StatementEnd

ALTER FUNCTION sweep_operations(smallint, text, timestamptz, timestamptz, uuid, uuid, integer) OWNER TO holdfast_scanner;
ALTER FUNCTION sweep_claims(smallint, text, uuid, uuid, uuid, integer) OWNER TO holdfast_scanner;
ALTER FUNCTION sweep_backlog() OWNER TO holdfast_scanner;
REVOKE CREATE ON SCHEMA public FROM holdfast_scanner;
REVOKE EXECUTE ON FUNCTION sweep_operations(smallint, text, timestamptz, timestamptz, uuid, uuid, integer) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION sweep_claims(smallint, text, uuid, uuid, uuid, integer) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION sweep_backlog() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sweep_operations(smallint, text, timestamptz, timestamptz, uuid, uuid, integer) TO holdfast_worker;
GRANT EXECUTE ON FUNCTION sweep_claims(smallint, text, uuid, uuid, uuid, integer) TO holdfast_worker;
GRANT EXECUTE ON FUNCTION sweep_backlog() TO holdfast_worker;
