-- What was done to each record: one event a committed revision, written in the
-- transaction that commits it.

-- +goose Up

-- The counter of a number's stream. Its row is locked until the commit of what
-- it counted, so that the order of sequences is the order of commits, and a
-- reader who has seen one has missed none before it.
CREATE TABLE event_counters (
    tenant_id uuid NOT NULL,
    number    smallint NOT NULL,
    last      bigint NOT NULL CHECK (last > 0),
    PRIMARY KEY (tenant_id, number)
);

-- fields are names of fields, never their values. actor_id is a principal's or a
-- public client's, and NULL for what Holdfast does by itself.
CREATE TABLE events (
    tenant_id  uuid NOT NULL,
    number     smallint NOT NULL,
    family     text COLLATE "C" NOT NULL,
    record_id  uuid NOT NULL,
    revision   bigint NOT NULL CHECK (revision > 0),
    sequence   bigint NOT NULL CHECK (sequence > 0),
    kind       text COLLATE "C" NOT NULL,
    fields     text[] NOT NULL,
    actor_kind text COLLATE "C" NOT NULL CHECK (actor_kind IN ('principal', 'client', 'holdfast')),
    actor_id   uuid,
    at         timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, number, family, record_id, revision),
    UNIQUE (tenant_id, number, sequence),
    CHECK ((actor_id IS NULL) = (actor_kind = 'holdfast'))
);

ALTER TABLE event_counters ENABLE ROW LEVEL SECURITY;
ALTER TABLE event_counters FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON event_counters USING (tenant_id = holdfast_tenant());
ALTER TABLE events ENABLE ROW LEVEL SECURITY;
ALTER TABLE events FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON events USING (tenant_id = holdfast_tenant());
GRANT SELECT, INSERT, UPDATE ON event_counters TO holdfast_api, holdfast_worker;
GRANT SELECT, INSERT, DELETE ON events TO holdfast_api, holdfast_worker;
