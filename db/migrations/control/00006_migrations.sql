-- Migrations of tenants' bodies: what was asked for, planned, approved and done,
-- and by whom; and which processes are alive. What must commit with the records
-- that are moved stands in the data databases.

-- +goose Up

-- A process that serves or works, as it reports itself every few seconds.
CREATE TABLE deployments (
    process_id  uuid PRIMARY KEY,
    process     text COLLATE "C" NOT NULL CHECK (process IN ('api', 'worker')),
    build       text COLLATE "C" NOT NULL,
    formats     smallint[] NOT NULL,
    started_at  timestamptz NOT NULL,
    reported_at timestamptz NOT NULL
);

-- What a build was found to be able to do with these databases and this bucket. A
-- plan refers to the report by its hash.
CREATE TABLE qualifications (
    report_hash  bytea PRIMARY KEY CHECK (octet_length(report_hash) = 32),
    build        text COLLATE "C" NOT NULL,
    passed       boolean NOT NULL,
    report       text COLLATE "C" NOT NULL,
    qualified_at timestamptz NOT NULL
);

-- revision moves with each transition, and is what a transition compares.
-- collections are NULL for all of the tenant's. former_hashes are of the plans that
-- the present one follows, each for another build. caps are lowered live, and never
-- raised above the plan's. stop says why a migration is stopped, held_by who has
-- paused it. envelope_hash is of a change of the build that is under way.
CREATE TABLE migrations (
    tenant_id      uuid NOT NULL,
    migration_id   uuid NOT NULL,
    kind           text COLLATE "C" NOT NULL CHECK (kind IN ('record_bodies', 'rehydrate')),
    state          text COLLATE "C" NOT NULL CHECK (state IN ('requested', 'previewed', 'approved', 'activating', 'active',
                   'paused', 'stopped', 'drained', 'verified', 'closed', 'aborted')),
    revision       bigint NOT NULL CHECK (revision > 0),
    collections    text[] COLLATE "C",
    plan_hash      bytea CHECK (octet_length(plan_hash) = 32),
    former_hashes  bytea[] NOT NULL,
    caps           json,
    stop           json,
    held_by        text COLLATE "C",
    envelope_hash  bytea CHECK (octet_length(envelope_hash) = 32),
    requested_by   uuid NOT NULL,
    requester      text COLLATE "C" NOT NULL,
    fingerprint    bytea NOT NULL,
    requested_at   timestamptz NOT NULL,
    changed_at     timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, migration_id),
    CHECK (state IN ('requested', 'aborted') OR plan_hash IS NOT NULL),
    CHECK ((state = 'stopped') = (stop IS NOT NULL))
);

-- Every packet that was ever shown, by its hash. observations are what was counted
-- for it, which is outside of the packet, and is counted again when it is old.
CREATE TABLE migration_plans (
    tenant_id    uuid NOT NULL,
    migration_id uuid NOT NULL,
    plan_hash    bytea NOT NULL CHECK (octet_length(plan_hash) = 32),
    packet       text COLLATE "C" NOT NULL,
    observations json NOT NULL,
    previewed_by uuid NOT NULL,
    previewer    text COLLATE "C" NOT NULL,
    previewed_at timestamptz NOT NULL,
    counted_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, migration_id, plan_hash)
);

-- What carries a plan over to a new build: the hash of the plan before, that of all
-- checkpoints, and the next plan.
CREATE TABLE migration_envelopes (
    tenant_id     uuid NOT NULL,
    migration_id  uuid NOT NULL,
    envelope_hash bytea NOT NULL CHECK (octet_length(envelope_hash) = 32),
    envelope      text COLLATE "C" NOT NULL,
    previewed_by  uuid NOT NULL,
    previewer     text COLLATE "C" NOT NULL,
    previewed_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, migration_id, envelope_hash)
);

-- An approval of a plan, of an envelope, or of going on behind a stop. It is for
-- the revision in which it was given, and is used once.
CREATE TABLE migration_approvals (
    tenant_id     uuid NOT NULL,
    migration_id  uuid NOT NULL,
    approved_hash bytea NOT NULL CHECK (octet_length(approved_hash) = 32),
    for_revision  bigint NOT NULL,
    purpose       text COLLATE "C" NOT NULL CHECK (purpose IN ('plan', 'envelope', 'resume')),
    approved_by   uuid NOT NULL,
    approver      text COLLATE "C" NOT NULL,
    approved_at   timestamptz NOT NULL,
    used_at       timestamptz,
    PRIMARY KEY (tenant_id, migration_id, approved_hash, for_revision)
);

-- Who made which transition, and when. One from a state to itself changed what
-- belongs to the migration: its caps, its build.
CREATE TABLE migration_transitions (
    tenant_id    uuid NOT NULL,
    migration_id uuid NOT NULL,
    revision     bigint NOT NULL,
    from_state   text COLLATE "C",
    to_state     text COLLATE "C" NOT NULL,
    act          text COLLATE "C" NOT NULL,
    actor_id     uuid,
    actor        text COLLATE "C" NOT NULL,
    note         json NOT NULL,
    at           timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, migration_id, revision)
);

-- A run works until its deadline, in jobs that hand on to the next. No other is
-- begun while one is open. passes_before are those that the checkpoints had counted
-- when it began.
CREATE TABLE migration_runs (
    tenant_id    uuid NOT NULL,
    migration_id uuid NOT NULL,
    run_id       uuid NOT NULL,
    build        text COLLATE "C" NOT NULL,
    asked_by     text COLLATE "C" NOT NULL,
    started_at   timestamptz NOT NULL,
    deadline     timestamptz NOT NULL,
    passes_before bigint NOT NULL CHECK (passes_before >= 0),
    passes       bigint NOT NULL CHECK (passes >= 0),
    worked_at    timestamptz,
    ended_at     timestamptz,
    outcome      text COLLATE "C",
    PRIMARY KEY (tenant_id, migration_id, run_id),
    CHECK ((ended_at IS NULL) = (outcome IS NULL))
);
CREATE UNIQUE INDEX migration_runs_open ON migration_runs (tenant_id, migration_id) WHERE ended_at IS NULL;

-- How far a migration was, now and then in the last hours, for rates.
CREATE TABLE migration_samples (
    tenant_id    uuid NOT NULL,
    migration_id uuid NOT NULL,
    at           timestamptz NOT NULL,
    records      bigint NOT NULL,
    bytes        bigint NOT NULL,
    PRIMARY KEY (tenant_id, migration_id, at)
);

-- Baselines, rechecks and scrubs: identities, revisions, digests, lengths and
-- counts, never contents.
CREATE TABLE migration_reports (
    tenant_id    uuid NOT NULL,
    migration_id uuid NOT NULL,
    report_id    uuid NOT NULL,
    kind         text COLLATE "C" NOT NULL CHECK (kind IN ('baseline', 'recheck', 'scrub')),
    plan_hash    bytea NOT NULL CHECK (octet_length(plan_hash) = 32),
    build        text COLLATE "C" NOT NULL,
    passed       boolean,
    progress     json NOT NULL,
    report       json,
    actor_id     uuid NOT NULL,
    actor        text COLLATE "C" NOT NULL,
    started_at   timestamptz NOT NULL,
    deadline     timestamptz NOT NULL,
    worked_at    timestamptz,
    ended_at     timestamptz,
    PRIMARY KEY (tenant_id, migration_id, report_id),
    CHECK ((ended_at IS NULL) = (passed IS NULL))
);

ALTER TABLE deployments ENABLE ROW LEVEL SECURITY;
ALTER TABLE deployments FORCE ROW LEVEL SECURITY;
CREATE POLICY operator ON deployments USING (holdfast_operator());
ALTER TABLE qualifications ENABLE ROW LEVEL SECURITY;
ALTER TABLE qualifications FORCE ROW LEVEL SECURITY;
CREATE POLICY operator ON qualifications USING (holdfast_operator());
ALTER TABLE migrations ENABLE ROW LEVEL SECURITY;
ALTER TABLE migrations FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON migrations USING (tenant_id = holdfast_tenant());
ALTER TABLE migration_plans ENABLE ROW LEVEL SECURITY;
ALTER TABLE migration_plans FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON migration_plans USING (tenant_id = holdfast_tenant());
ALTER TABLE migration_envelopes ENABLE ROW LEVEL SECURITY;
ALTER TABLE migration_envelopes FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON migration_envelopes USING (tenant_id = holdfast_tenant());
ALTER TABLE migration_approvals ENABLE ROW LEVEL SECURITY;
ALTER TABLE migration_approvals FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON migration_approvals USING (tenant_id = holdfast_tenant());
ALTER TABLE migration_transitions ENABLE ROW LEVEL SECURITY;
ALTER TABLE migration_transitions FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON migration_transitions USING (tenant_id = holdfast_tenant());
ALTER TABLE migration_runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE migration_runs FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON migration_runs USING (tenant_id = holdfast_tenant());
ALTER TABLE migration_samples ENABLE ROW LEVEL SECURITY;
ALTER TABLE migration_samples FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON migration_samples USING (tenant_id = holdfast_tenant());
ALTER TABLE migration_reports ENABLE ROW LEVEL SECURITY;
ALTER TABLE migration_reports FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON migration_reports USING (tenant_id = holdfast_tenant());
GRANT SELECT, INSERT, UPDATE, DELETE ON deployments TO holdfast_api, holdfast_worker;
GRANT SELECT, INSERT ON qualifications TO holdfast_api;
GRANT SELECT ON qualifications TO holdfast_worker;
GRANT SELECT, INSERT, UPDATE ON migrations, migration_plans, migration_approvals TO holdfast_api;
GRANT SELECT, INSERT ON migration_envelopes TO holdfast_api;
GRANT SELECT, UPDATE ON migrations TO holdfast_worker;
GRANT SELECT ON migration_plans, migration_envelopes, migration_approvals TO holdfast_worker;
GRANT SELECT, INSERT ON migration_transitions TO holdfast_api, holdfast_worker;
GRANT SELECT, INSERT, UPDATE ON migration_runs, migration_reports TO holdfast_api, holdfast_worker;
GRANT SELECT, INSERT, DELETE ON migration_samples TO holdfast_api, holdfast_worker;

-- What workers go on with: runs, and scrubs, and for how long nobody has been heard
-- of who is at one. Only identities are told.
CREATE POLICY scanner ON migration_runs FOR SELECT TO holdfast_scanner USING (true);
CREATE POLICY scanner ON migration_reports FOR SELECT TO holdfast_scanner USING (true);
CREATE INDEX migration_reports_open ON migration_reports (started_at) WHERE ended_at IS NULL;
-- +goose StatementBegin
CREATE FUNCTION open_migration_work(p_limit integer) RETURNS TABLE (tenant_id uuid, migration_id uuid, work_id uuid, scrub boolean, build text,
                                                                          silent interval)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        (SELECT r.tenant_id, r.migration_id, r.run_id, false, r.build, clock_timestamp() - coalesce(r.worked_at, r.started_at)
           FROM migration_runs r WHERE r.ended_at IS NULL ORDER BY r.started_at LIMIT p_limit)
        UNION ALL
        (SELECT r.tenant_id, r.migration_id, r.report_id, true, r.build, clock_timestamp() - coalesce(r.worked_at, r.started_at)
           FROM migration_reports r WHERE r.ended_at IS NULL AND r.kind = 'scrub' ORDER BY r.started_at LIMIT p_limit);
    END;
-- +goose StatementEnd
GRANT SELECT (tenant_id, migration_id, run_id, build, started_at, worked_at, ended_at) ON migration_runs TO holdfast_scanner;
GRANT SELECT (tenant_id, migration_id, report_id, kind, build, started_at, worked_at, ended_at) ON migration_reports TO holdfast_scanner;
GRANT CREATE ON SCHEMA public TO holdfast_scanner;
ALTER FUNCTION open_migration_work(integer) OWNER TO holdfast_scanner;
REVOKE CREATE ON SCHEMA public FROM holdfast_scanner;
REVOKE EXECUTE ON FUNCTION open_migration_work(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION open_migration_work(integer) TO holdfast_worker;
