-- When each recurring job runs next. River keeps its own periodic jobs in its
-- leader's memory; a run that is due here is due whoever leads.

-- +goose Up

-- next_run_at is what the workers compare and swap: who moves it has the run.
-- last_job_id is the job that the last run was given to, a new one (and then
-- last_enqueued_at is when) or the one before, where that was still unfinished.
CREATE TABLE schedules (
    name             text COLLATE "C" NOT NULL,
    database         text COLLATE "C" NOT NULL,
    next_run_at      timestamptz NOT NULL,
    runs             bigint NOT NULL,
    last_enqueued_at timestamptz,
    last_job_id      bigint,
    PRIMARY KEY (name, database)
);

ALTER TABLE schedules ENABLE ROW LEVEL SECURITY;
ALTER TABLE schedules FORCE ROW LEVEL SECURITY;
CREATE POLICY operator ON schedules USING (holdfast_operator());
GRANT SELECT, INSERT, UPDATE ON schedules TO holdfast_worker;
