package migration

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// ReportKind is what a report is about.
type ReportKind string

const (
	BaselineReport ReportKind = "baseline" // what readers saw before the activation
	RecheckReport  ReportKind = "recheck"  // what they see before the migration is closed
	ScrubReport    ReportKind = "scrub"    // every body in the store, read
)

// Report is a baseline, a recheck or a scrub: identities, revisions, digests,
// lengths and counts, never contents.
type Report struct {
	ID        domain.ReportID
	Tenant    domain.TenantID
	Migration domain.MigrationID
	Kind      ReportKind
	PlanHash  Hash
	Build     string
	Actor     Actor // who began it
	StartedAt time.Time
	Deadline  time.Time
	EndedAt   time.Time      // zero while it goes on, and for one that nobody ended
	Passed    bool           // false while it goes on
	Verdict   *Verdict       // of a baseline or a recheck that has ended
	Scrub     *ScrubProgress // of a scrub, also while it goes on

	Observed *VerificationReport // what the verdict is of, where one report was asked for

	progress json.RawMessage
	outcome  json.RawMessage // of a baseline or a recheck that has ended
}

const reportColumns = `r.tenant_id, r.migration_id, r.report_id, r.kind, r.plan_hash, r.build, r.passed, r.progress, r.report,
       r.actor_id, r.actor, r.started_at, r.deadline, r.ended_at`

func scanReport(row pgx.CollectableRow) (r Report, err error) {
	var hash []byte
	var passed *bool
	var ended *time.Time
	err = row.Scan(&r.Tenant, &r.Migration, &r.ID, &r.Kind, &hash, &r.Build, &passed, &r.progress, &r.outcome,
		&r.Actor.ID, &r.Actor.Name, &r.StartedAt, &r.Deadline, &ended)
	if err != nil {
		return r, err
	}
	copy(r.PlanHash[:], hash)
	r.Passed = passed != nil && *passed
	r.StartedAt, r.Deadline, r.EndedAt = r.StartedAt.UTC(), r.Deadline.UTC(), utc(ended)
	switch {
	case r.Kind == ScrubReport:
		r.Scrub = &ScrubProgress{}
		return r, json.Unmarshal(r.progress, r.Scrub)
	case r.outcome != nil:
		var judged struct {
			Verdict Verdict `json:"verdict"`
		}
		err = json.Unmarshal(r.outcome, &judged)
		r.Verdict = &judged.Verdict
	}
	return r, err
}

// sqlReports leaves out what was read, and what was to be read.
const (
	sqlReports = `
SELECT r.tenant_id, r.migration_id, r.report_id, r.kind, r.plan_hash, r.build, r.passed,
       CASE WHEN r.kind = 'scrub' THEN r.progress ELSE '{}' END,
       CASE WHEN r.report IS NOT NULL AND r.kind <> 'scrub' THEN json_build_object('verdict', r.report -> 'verdict') END,
       r.actor_id, r.actor, r.started_at, r.deadline, r.ended_at
  FROM migration_reports r WHERE r.tenant_id = $1 AND r.migration_id = $2 ORDER BY r.started_at DESC, r.report_id DESC LIMIT 100`
	sqlOneReport  = `SELECT ` + reportColumns + ` FROM migration_reports r WHERE r.tenant_id = $1 AND r.migration_id = $2 AND r.report_id = $3`
	sqlLockReport = sqlOneReport + ` FOR UPDATE`
)

var errNoReport = domain.NotFound("report_not_found", "The migration has no report of this id.")

// Reports are the last 100 baselines, rechecks and scrubs of a migration, the newest
// first.
//
// Errors: unavailable.
func (s *Service) Reports(ctx context.Context, tenant domain.TenantID, id domain.MigrationID) (all []Report, err error) {
	err = s.control.ControlRead(ctx, tenant, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlReports, tenant, id)
		all, err = pgx.CollectRows(rows, scanReport)
		return err
	})
	return all, err
}

// ReportOf gives one report of a migration, with what was seen.
//
// Errors: not found report_not_found; unavailable.
func (s *Service) ReportOf(ctx context.Context, tenant domain.TenantID, id domain.MigrationID, report domain.ReportID) (r Report, err error) {
	err = s.control.ControlRead(ctx, tenant, func(tx pgx.Tx) error {
		if r, err = reportTx(ctx, tx, sqlOneReport, tenant, id, report); err == nil && r.Verdict != nil {
			r.Observed, err = r.observed()
		}
		return err
	})
	return r, err
}

func reportTx(ctx context.Context, tx pgx.Tx, sql string, tenant domain.TenantID, id domain.MigrationID, report domain.ReportID) (Report, error) {
	rows, _ := tx.Query(ctx, sql, tenant, id, report)
	r, err := pgx.CollectExactlyOneRow(rows, scanReport)
	if errors.Is(err, pgx.ErrNoRows) {
		return Report{}, errNoReport
	}
	return r, err
}

// The clock is the database's.
const sqlBeginReport = `
INSERT INTO migration_reports AS r (tenant_id, migration_id, report_id, kind, plan_hash, build, progress, actor_id, actor, started_at, deadline)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, now.at, now.at + $10::interval FROM (SELECT clock_timestamp() AS at) now
RETURNING ` + reportColumns

func beginReportTx(ctx context.Context, tx pgx.Tx, m *Migration, kind ReportKind, build string, by Actor, life time.Duration, progress any) (Report, error) {
	text, err := json.Marshal(progress)
	if err != nil {
		return Report{}, err
	}
	id := domain.NewID[domain.ReportKind](time.Now())
	rows, _ := tx.Query(ctx, sqlBeginReport, m.Tenant, m.ID, id, kind, m.PlanHash[:], build, json.RawMessage(text), by.ID, by.Name, life)
	return pgx.CollectExactlyOneRow(rows, scanReport)
}

// noteTx records that somebody did what changes nothing of a migration.
func noteTx(ctx context.Context, tx pgx.Tx, m *Migration, act string, by Actor, note any) (Migration, error) {
	return transitTx(ctx, tx, m, step{act: act, to: m.State, by: by, note: note})
}

var (
	errBaselineMissing = domain.Conflict("baseline_missing",
		"What readers see before the migration hasn't been read, or it wasn't sound. Verify the baseline first.")
	errRecheckMissing = domain.Conflict("recheck_missing",
		"No recheck under the present plan has passed. Verify again before closing.")
)

const sqlPassedReport = `
SELECT ` + reportColumns + `
  FROM migration_reports r
 WHERE r.tenant_id = $1 AND r.migration_id = $2 AND r.kind = $3 AND r.plan_hash = ANY ($4) AND r.passed
 ORDER BY r.ended_at DESC, r.report_id DESC LIMIT 1`

// demandReportTx refuses to go on without a baseline or a recheck that has passed. A
// baseline is also one of the plans that the present one carries over to another
// build; a recheck is of the present plan.
//
// Errors: conflict baseline_missing, recheck_missing.
func (s *Service) demandReportTx(ctx context.Context, tx pgx.Tx, m *Migration, kind ReportKind) error {
	_, err := passedReportTx(ctx, tx, m, kind)
	return err
}

func passedReportTx(ctx context.Context, tx pgx.Tx, m *Migration, kind ReportKind) (Report, error) {
	plans, missing := []Hash{m.PlanHash}, errRecheckMissing
	if kind == BaselineReport {
		plans, missing = append(plans, m.Former...), errBaselineMissing
	}
	rows, _ := tx.Query(ctx, sqlPassedReport, m.Tenant, m.ID, kind, hashes(plans))
	r, err := pgx.CollectExactlyOneRow(rows, scanReport)
	if errors.Is(err, pgx.ErrNoRows) {
		return Report{}, missing
	}
	return r, err
}
