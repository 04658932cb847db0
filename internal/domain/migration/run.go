package migration

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// A run ends by whichever of its bounds comes first.
const (
	RunTime   = 50 * time.Minute
	RunPasses = 100_000
)

// Run is a stretch of work that an operator asked for. When it has ended nothing
// goes on by itself; until then it does, whatever becomes of a worker.
type Run struct {
	ID        domain.RunID
	Tenant    domain.TenantID
	Migration domain.MigrationID
	Build     string // whose workers do it
	AskedBy   string
	StartedAt time.Time
	Deadline  time.Time // behind which no pass begins
	Passes    int64     // that it has made, as it was noted last
	WorkedAt  time.Time // when that was; zero when nobody has worked yet
	EndedAt   time.Time // zero until then
	Outcome   Outcome   // "" until then

	before int64 // passes of all collections when it began
}

// Outcome is how a run ended.
type Outcome string

const (
	OutcomeDrained Outcome = "drained" // nothing is left in the former format
	OutcomeStopped Outcome = "stopped" // for a review
	OutcomePaused  Outcome = "paused"
	OutcomeTime    Outcome = "time"   // its deadline came
	OutcomePasses  Outcome = "passes" // it made as many as it may
)

const runColumns = `r.run_id, r.tenant_id, r.migration_id, r.build, r.asked_by, r.started_at, r.deadline, r.passes, r.passes_before,
       r.worked_at, r.ended_at, coalesce(r.outcome, '')`

func scanRun(row pgx.CollectableRow) (r Run, err error) {
	var worked, ended *time.Time
	err = row.Scan(&r.ID, &r.Tenant, &r.Migration, &r.Build, &r.AskedBy, &r.StartedAt, &r.Deadline, &r.Passes, &r.before, &worked, &ended, &r.Outcome)
	r.StartedAt, r.Deadline, r.WorkedAt, r.EndedAt = r.StartedAt.UTC(), r.Deadline.UTC(), utc(worked), utc(ended)
	return r, err
}

// sqlBeginRun begins none while one is open, nor for a migration that has moved on.
const sqlBeginRun = `
INSERT INTO migration_runs AS r (tenant_id, migration_id, run_id, build, asked_by, started_at, deadline, passes, passes_before)
SELECT $1, $2, $3, $4, $5, now.at, now.at + $6::interval, 0, $7
  FROM (SELECT clock_timestamp() AS at) now
 WHERE EXISTS (SELECT FROM migrations m
                WHERE m.tenant_id = $1 AND m.migration_id = $2 AND m.state = 'active' AND m.revision = $8 AND m.envelope_hash IS NULL)
ON CONFLICT (tenant_id, migration_id) WHERE ended_at IS NULL DO NOTHING
RETURNING ` + runColumns

var (
	errRunUnderWay = domain.Conflict("run_under_way", "A run of this migration is under way. Wait for its end, or pause it.")
	errBuildMoves  = domain.Conflict("requalification_under_way",
		"The migration is being carried over to another build. Finish that: some collections may have it already.")
	errNoRun = domain.NotFound("run_not_found", "The migration has no run of this id.")
)

// Run begins a run of an active migration. Workers of the plan's build do it.
//
// Errors: not found migration_not_found; conflict migration_state,
// plan_hash_differs, plan_drifted, run_under_way, requalification_under_way,
// lifecycle_overlaps; unavailable.
func (s *Service) Run(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan Hash) (run Run, err error) {
	m, p, err := s.standing(ctx, tenant, id, plan)
	switch {
	case err != nil:
		return Run{}, err
	case m.State != Active:
		return Run{}, errState(m.State)
	case m.Envelope != Hash{}:
		return Run{}, errBuildMoves
	}
	if err := s.demandRunnable(ctx, &m, &p); err != nil {
		return Run{}, err
	}
	all, err := s.checkpoints(ctx, &m)
	if err != nil {
		return Run{}, err
	}
	err = s.control.ControlTx(ctx, tenant, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlEndOverdue, tenant, id, OutcomeTime); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, sqlBeginRun, tenant, id, domain.NewID[domain.RunKind](time.Now()), p.Packet.Build, scope.Name, RunTime, passesOf(all), m.Revision)
		run, err = pgx.CollectExactlyOneRow(rows, scanRun)
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if now, err := migrationTx(ctx, tx, tenant, id); err != nil || now.Revision != m.Revision {
			return errors.Join(err, errMoved)
		}
		return errRunUnderWay
	})
	return run, err
}

// demandRunnable refuses a run where the plan isn't so any more. Of the bucket's
// rules it must be so that none can delete bodies: others may have come.
func (s *Service) demandRunnable(ctx context.Context, m *Migration, p *Plan) error {
	found, err := s.drift(ctx, m, p)
	if err != nil {
		return err
	}
	kept := found[:0]
	for _, d := range found {
		if d.Field != "/lifecycle" && d.Field != "/lifecycle_hash" {
			kept = append(kept, d)
		}
	}
	if len(kept) > 0 {
		return errDriftedAfter.With("drift", kept)
	}
	return nil
}

func passesOf(all []Checkpoint) (sum int64) {
	for _, c := range all {
		sum += c.Passes
	}
	return sum
}

const sqlRuns = `
SELECT ` + runColumns + ` FROM migration_runs r
 WHERE r.tenant_id = $1 AND r.migration_id = $2 ORDER BY r.started_at DESC, r.run_id DESC LIMIT $3`

// maxRuns is how many runs are shown.
const maxRuns = 20

// Runs are a migration's last runs, the newest first.
//
// Errors: unavailable.
func (s *Service) Runs(ctx context.Context, tenant domain.TenantID, id domain.MigrationID) (runs []Run, err error) {
	err = s.control.ControlRead(ctx, tenant, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlRuns, tenant, id, maxRuns)
		runs, err = pgx.CollectRows(rows, scanRun)
		return err
	})
	return runs, err
}

// sqlNoteRun keeps how far a run is. One that has ended stays as it is.
const sqlNoteRun = `
UPDATE migration_runs r SET passes = greatest(r.passes, $4), worked_at = $5::timestamptz,
       ended_at = CASE WHEN $6::text <> '' THEN $5::timestamptz END, outcome = NULLIF($6::text, '')
 WHERE r.tenant_id = $1 AND r.migration_id = $2 AND r.run_id = $3 AND r.ended_at IS NULL`

// noteRunTx keeps how far a run is, and with an outcome ends it.
func noteRunTx(ctx context.Context, tx pgx.Tx, r *Run, passes int64, outcome Outcome) error {
	var now time.Time
	if err := tx.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, sqlNoteRun, r.Tenant, r.Migration, r.ID, passes, now, outcome)
	return err
}

// sqlEndOverdue ends a run whose deadline has come with no worker of its build to
// note it.
const sqlEndOverdue = `
UPDATE migration_runs r SET ended_at = r.deadline, outcome = $3
 WHERE r.tenant_id = $1 AND r.migration_id = $2 AND r.ended_at IS NULL AND r.deadline < clock_timestamp()`

const sqlEndRuns = `
UPDATE migration_runs r SET ended_at = $3, outcome = $4
 WHERE r.tenant_id = $1 AND r.migration_id = $2 AND r.ended_at IS NULL`

// endRunsTx ends the run that is open, when a migration is paused or stopped.
func endRunsTx(ctx context.Context, tx pgx.Tx, m *Migration, outcome Outcome) error {
	_, err := tx.Exec(ctx, sqlEndRuns, m.Tenant, m.ID, m.ChangedAt, outcome)
	return err
}
