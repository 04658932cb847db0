-- What the worker does in the lease domain: it settles what is due of worlds,
-- signs checkpoints and judges heat, by number and for all tenants. What it may
-- see of all of them are identities, never contents.

-- +goose Up

-- Where a pass over one number stands. The cursor moves in the transaction that
-- reads a page, behind the page: a worker that dies then leaves it to the next
-- pass. visited_at is when that was, so that the number that waits longest is
-- visited first.
CREATE TABLE lease_sweeps (
    task          text COLLATE "C" NOT NULL CHECK (task IN ('settle', 'checkpoints', 'heat')),
    number        smallint NOT NULL,
    after_tenant  uuid NOT NULL,
    after_world   text COLLATE "C" NOT NULL,
    pass_began_at timestamptz,
    pass_ended_at timestamptz,
    visited_at    timestamptz,
    passes        bigint NOT NULL,
    visited       bigint NOT NULL,
    PRIMARY KEY (task, number)
);

-- The last few signed checkpoints of a world, so that one can be had that is from
-- before somebody looks.
CREATE TABLE checkpoints (
    tenant_id  uuid NOT NULL,
    number     smallint NOT NULL,
    world_id   text COLLATE "C" NOT NULL,
    position   bigint NOT NULL CHECK (position > 0),
    chain_hash bytea NOT NULL CHECK (octet_length(chain_hash) = 32),
    signed_at  timestamptz NOT NULL,
    key_id     text COLLATE "C" NOT NULL,
    signature  bytea NOT NULL CHECK (octet_length(signature) = 64),
    PRIMARY KEY (tenant_id, number, world_id, position)
);

-- How busy a world is: what processes have counted since measured_at, and what
-- the last look made of it. Only worlds that are worth it have a row, and lose it
-- when they have been calm for long enough.
CREATE TABLE world_heat (
    tenant_id      uuid NOT NULL,
    number         smallint NOT NULL,
    world_id       text COLLATE "C" NOT NULL,
    appends        bigint NOT NULL CHECK (appends >= 0),
    waited_us      bigint NOT NULL CHECK (waited_us >= 0),
    measured_at    timestamptz NOT NULL,
    rate           double precision NOT NULL,
    mean_wait_us   bigint NOT NULL,
    band           text COLLATE "C" NOT NULL CHECK (band IN ('none', 'warning', 'hot')),
    since          timestamptz NOT NULL,
    spill_advised  boolean NOT NULL,
    PRIMARY KEY (tenant_id, number, world_id)
) WITH (fillfactor = 70);

-- They begin with an expression, as worlds_held does, and have nothing in them
-- that changes with an append.
CREATE INDEX worlds_by_number ON worlds ((number::integer), tenant_id, world_id) WHERE NOT retired;
CREATE INDEX append_rejections_due ON append_rejections ((number::integer), journaled_at);
CREATE INDEX lease_waiters_by_number ON lease_waiters ((number::integer));
CREATE INDEX world_heat_by_number ON world_heat ((number::integer), measured_at);

ALTER TABLE lease_sweeps ENABLE ROW LEVEL SECURITY;
ALTER TABLE lease_sweeps FORCE ROW LEVEL SECURITY;
CREATE POLICY operator ON lease_sweeps USING (holdfast_operator());
ALTER TABLE checkpoints ENABLE ROW LEVEL SECURITY;
ALTER TABLE checkpoints FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON checkpoints USING (tenant_id = holdfast_tenant());
CREATE POLICY scanner ON checkpoints FOR SELECT TO holdfast_scanner USING (true);
-- What a process has counted it adds for all tenants at once.
ALTER TABLE world_heat ENABLE ROW LEVEL SECURITY;
ALTER TABLE world_heat FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON world_heat USING (tenant_id = holdfast_tenant());
CREATE POLICY operator ON world_heat USING (holdfast_operator());
CREATE POLICY scanner ON world_heat FOR SELECT TO holdfast_scanner USING (true);
CREATE POLICY scanner ON tenant_gates FOR SELECT TO holdfast_scanner USING (true);
GRANT SELECT, INSERT, UPDATE ON lease_sweeps TO holdfast_worker;
GRANT SELECT ON checkpoints TO holdfast_api;
GRANT SELECT, INSERT, DELETE ON checkpoints TO holdfast_worker;
GRANT SELECT, INSERT, UPDATE ON world_heat TO holdfast_api;
GRANT SELECT, UPDATE, DELETE ON world_heat TO holdfast_worker;
GRANT SELECT (tenant_id, number, world_id, position) ON checkpoints TO holdfast_scanner;
GRANT SELECT (tenant_id, number, world_id, measured_at) ON world_heat TO holdfast_scanner;
GRANT SELECT (tenant_id, state) ON tenant_gates TO holdfast_scanner;
GRANT SELECT (number, state) ON number_gates TO holdfast_scanner;
GRANT CREATE ON SCHEMA public TO holdfast_scanner;

-- Worlds of a number whose lease has ended by p_now, or that somebody must look
-- at since nobody else will: rejections that were last journaled before
-- p_rejected, lines whose waiters have all gone. Only of tenants who are served:
-- what a suspended one has waits for it, and stands in nobody's way.
-- +goose StatementBegin
CREATE FUNCTION sweep_worlds_due(
    p_number smallint, p_now timestamptz, p_rejected timestamptz, p_after_tenant uuid, p_after_world text, p_limit integer
) RETURNS TABLE (tenant_id uuid, world_id text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        (SELECT w.tenant_id, w.world_id FROM worlds w JOIN tenant_gates g ON g.tenant_id = w.tenant_id
          WHERE w.number::integer = p_number::integer AND w.holder_issuer IS NOT NULL
            AND (w.tenant_id, w.world_id) > (p_after_tenant, p_after_world)
            AND w.expires_at <= p_now AND g.state = 'open'
          ORDER BY w.tenant_id, w.world_id LIMIT p_limit)
        UNION
        (SELECT r.tenant_id, r.world_id FROM append_rejections r JOIN tenant_gates g ON g.tenant_id = r.tenant_id
          WHERE r.number::integer = p_number::integer AND r.journaled_at <= p_rejected
            AND (r.tenant_id, r.world_id) > (p_after_tenant, p_after_world) AND g.state = 'open'
          ORDER BY r.tenant_id, r.world_id LIMIT p_limit)
        UNION
        (SELECT l.tenant_id, l.world_id FROM lease_waiters l JOIN tenant_gates g ON g.tenant_id = l.tenant_id
          WHERE l.number::integer = p_number::integer
            AND (l.tenant_id, l.world_id) > (p_after_tenant, p_after_world) AND g.state = 'open'
          GROUP BY l.tenant_id, l.world_id HAVING max(l.alive_until) <= p_now
          ORDER BY l.tenant_id, l.world_id LIMIT p_limit)
        ORDER BY 1, 2
        LIMIT p_limit;
    END;
-- +goose StatementEnd

-- The open numbers that have any such world: what an idle run reads.
-- +goose StatementBegin
CREATE FUNCTION sweep_numbers_due(p_now timestamptz, p_rejected timestamptz) RETURNS TABLE (number smallint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT n.number FROM number_gates n
         WHERE n.state = 'open'
           AND EXISTS (SELECT FROM sweep_worlds_due(n.number, p_now, p_rejected, '00000000-0000-0000-0000-000000000000', '', 1));
    END;
-- +goose StatementEnd

-- A page of worlds, and which of them have grown since their last checkpoint.
-- +goose StatementBegin
CREATE FUNCTION sweep_worlds_grown(p_number smallint, p_after_tenant uuid, p_after_world text, p_limit integer)
    RETURNS TABLE (tenant_id uuid, world_id text, grown boolean)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT w.tenant_id, w.world_id, coalesce(g.state = 'open', false) AND w.position > coalesce(c.position, 0)
          FROM (SELECT w.* FROM worlds w
                 WHERE w.number::integer = p_number::integer AND NOT w.retired
                   AND (w.tenant_id, w.world_id) > (p_after_tenant, p_after_world)
                 ORDER BY w.tenant_id, w.world_id LIMIT p_limit) w
          LEFT JOIN tenant_gates g ON g.tenant_id = w.tenant_id
          LEFT JOIN LATERAL (SELECT c.position FROM checkpoints c
                              WHERE c.tenant_id = w.tenant_id AND c.number = w.number AND c.world_id = w.world_id
                              ORDER BY c.tenant_id, c.number, c.world_id, c.position DESC LIMIT 1) c ON true
         ORDER BY w.tenant_id, w.world_id;
    END;
-- +goose StatementEnd

-- Worlds whose heat has been counted since p_measured or longer.
-- +goose StatementBegin
CREATE FUNCTION sweep_worlds_heated(p_number smallint, p_measured timestamptz, p_after_tenant uuid, p_after_world text, p_limit integer)
    RETURNS TABLE (tenant_id uuid, world_id text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT h.tenant_id, h.world_id FROM world_heat h JOIN tenant_gates g ON g.tenant_id = h.tenant_id
         WHERE h.number::integer = p_number::integer AND h.measured_at <= p_measured
           AND (h.tenant_id, h.world_id) > (p_after_tenant, p_after_world) AND g.state = 'open'
         ORDER BY h.tenant_id, h.world_id
         LIMIT p_limit;
    END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION sweep_numbers_heated(p_measured timestamptz) RETURNS TABLE (number smallint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT n.number FROM number_gates n
         WHERE n.state = 'open'
           AND EXISTS (SELECT FROM sweep_worlds_heated(n.number, p_measured, '00000000-0000-0000-0000-000000000000', '', 1));
    END;
-- +goose StatementEnd

ALTER FUNCTION sweep_worlds_due(smallint, timestamptz, timestamptz, uuid, text, integer) OWNER TO holdfast_scanner;
ALTER FUNCTION sweep_numbers_due(timestamptz, timestamptz) OWNER TO holdfast_scanner;
ALTER FUNCTION sweep_worlds_grown(smallint, uuid, text, integer) OWNER TO holdfast_scanner;
ALTER FUNCTION sweep_worlds_heated(smallint, timestamptz, uuid, text, integer) OWNER TO holdfast_scanner;
ALTER FUNCTION sweep_numbers_heated(timestamptz) OWNER TO holdfast_scanner;
REVOKE CREATE ON SCHEMA public FROM holdfast_scanner;
REVOKE EXECUTE ON FUNCTION sweep_worlds_due(smallint, timestamptz, timestamptz, uuid, text, integer) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION sweep_numbers_due(timestamptz, timestamptz) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION sweep_worlds_grown(smallint, uuid, text, integer) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION sweep_worlds_heated(smallint, timestamptz, uuid, text, integer) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION sweep_numbers_heated(timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sweep_worlds_due(smallint, timestamptz, timestamptz, uuid, text, integer) TO holdfast_worker;
GRANT EXECUTE ON FUNCTION sweep_numbers_due(timestamptz, timestamptz) TO holdfast_worker;
GRANT EXECUTE ON FUNCTION sweep_worlds_grown(smallint, uuid, text, integer) TO holdfast_worker;
GRANT EXECUTE ON FUNCTION sweep_worlds_heated(smallint, timestamptz, uuid, text, integer) TO holdfast_worker;
GRANT EXECUTE ON FUNCTION sweep_numbers_heated(timestamptz) TO holdfast_worker;
