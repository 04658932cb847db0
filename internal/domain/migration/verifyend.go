package migration

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// lateReport is for a report that is on its way when the phase is over.
const lateReport = time.Minute

// judged is a report with what became of it, as it is kept.
type judged struct {
	Hash     Hash               `json:"observed_hash"`
	Observed VerificationReport `json:"observed"`
	Verdict  Verdict            `json:"verdict"`
	After    Runtime            `json:"after"`
}

func (r *Report) observed() (*VerificationReport, error) {
	var kept judged
	err := json.Unmarshal(r.outcome, &kept)
	return &kept.Observed, err
}

var (
	errEnded       = domain.Conflict("report_ended", "The verification has ended, with another report. Begin another.")
	errOverdue     = domain.Conflict("report_overdue", "The verification's time is over. Nothing was changed. Begin another.")
	errOtherReader = domain.Forbidden("report_not_yours", "Another operator has begun the verification, and ends it.")
)

const sqlEndReport = `
UPDATE migration_reports r SET passed = $4, report = $5, ended_at = clock_timestamp()
 WHERE r.tenant_id = $1 AND r.migration_id = $2 AND r.report_id = $3 AND r.ended_at IS NULL`

// EndVerification judges what a reader saw. A recheck that passes verifies the
// migration; one that finds what can't be so stops it. The same report again has the
// same verdict.
//
// Errors: invalid report_invalid; forbidden report_not_yours; not found
// migration_not_found, report_not_found; conflict report_ended, report_overdue,
// plan_hash_differs, migration_state, migration_moved; unavailable.
func (s *Service) EndVerification(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, report domain.ReportID, seen VerificationReport) (Verdict, error) {
	hash, err := hashOf(seen)
	if err != nil {
		return Verdict{}, err
	}
	m, err := s.Migration(ctx, tenant, id)
	if err != nil {
		return Verdict{}, err
	}
	p, err := s.Plan(ctx, tenant, id, m.PlanHash)
	if err != nil {
		return Verdict{}, err
	}
	after, differs, err := s.compareRuntime(ctx, &p.Packet)
	if err != nil {
		return Verdict{}, err
	}
	var verdict Verdict
	before := m
	err = s.control.ControlTx(ctx, tenant, func(tx pgx.Tx) error {
		r, err := reportTx(ctx, tx, sqlLockReport, tenant, id, report)
		if err != nil {
			return err
		}
		again, err := r.repeated(hash)
		if err != nil || again != nil {
			if again != nil {
				verdict = *again
			}
			return err
		}
		if err := r.demandOpen(ctx, tx, scope, &m); err != nil {
			return err
		}
		if verdict, err = r.judge(ctx, tx, &m, &seen, differs); err != nil {
			return err
		}
		if m, err = concludeTx(ctx, tx, &m, &r, &verdict, actorOf(scope)); err != nil {
			return err
		}
		verdict.State = m.State
		_, err = tx.Exec(ctx, sqlEndReport, tenant, id, report, verdict.Outcome == VerdictPassed, jsonOf(&judged{hash, seen, verdict, after}))
		return err
	})
	if err != nil {
		return Verdict{}, err
	}
	if m.State == Stopped && before.State != Stopped {
		// A crash before this leaves drained checkpoints let go: nothing is left to move.
		err = s.hold(ctx, &m)
	}
	return verdict, err
}

// repeated gives the verdict of a report that has ended by what is sent now.
func (r *Report) repeated(hash Hash) (*Verdict, error) {
	switch {
	case r.Kind == ScrubReport:
		return nil, errNoReport
	case r.EndedAt.IsZero():
		return nil, nil
	}
	var kept judged
	if err := json.Unmarshal(r.outcome, &kept); err != nil {
		return nil, err
	}
	if kept.Hash != hash {
		return nil, errEnded
	}
	return &kept.Verdict, nil
}

// demandOpen refuses a report that can't be ended now.
func (r *Report) demandOpen(ctx context.Context, tx pgx.Tx, scope tenancy.Scope, m *Migration) error {
	var overdue bool
	if err := tx.QueryRow(ctx, `SELECT clock_timestamp() > $1::timestamptz + $2::interval`, r.Deadline, lateReport).Scan(&overdue); err != nil {
		return err
	}
	switch {
	case r.Actor.ID != scope.Principal:
		return errOtherReader
	case r.PlanHash != m.PlanHash:
		return errOtherHash
	case !slices.Contains(verifiable[r.Kind], m.State):
		return errState(m.State)
	case overdue:
		return errOverdue
	}
	return nil
}

// judge holds what was seen to what was to be read, and to the baseline.
func (r *Report) judge(ctx context.Context, tx pgx.Tx, m *Migration, seen *VerificationReport, differs string) (Verdict, error) {
	var asked reading
	if err := json.Unmarshal(r.progress, &asked); err != nil {
		return Verdict{}, err
	}
	if err := seen.check(&asked); err != nil {
		return Verdict{}, err
	}
	var was *VerificationReport
	if asked.Baseline != nil {
		baseline, err := reportTx(ctx, tx, sqlOneReport, m.Tenant, m.ID, *asked.Baseline)
		if err != nil {
			return Verdict{}, err
		}
		if was, err = baseline.observed(); err != nil {
			return Verdict{}, err
		}
	}
	return judge(r.Kind, &asked, was, seen, differs), nil
}

// concludeTx makes the transition that a verdict comes to.
func concludeTx(ctx context.Context, tx pgx.Tx, m *Migration, r *Report, v *Verdict, by Actor) (Migration, error) {
	note := verifyNote{r.Kind, r.ID, v.Outcome}
	switch {
	case r.Kind == RecheckReport && v.Outcome == VerdictFailed:
		first := v.Findings[0]
		return transitTx(ctx, tx, m, step{act: "verify", to: Stopped, by: by, note: note, stop: &Stop{
			From: Drained, Category: VerificationFailed, Collection: first.Collection, Key: first.Key, Section: first.Section,
			NextStep: nextSteps[VerificationFailed],
		}})
	case r.Kind == RecheckReport && v.Outcome == VerdictPassed && m.State == Drained:
		return transitTx(ctx, tx, m, step{act: "verify", to: Verified, by: by, note: note})
	}
	return noteTx(ctx, tx, m, "verify", by, note)
}
