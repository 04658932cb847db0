package migration

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const (
	defaultScrub = 24 * time.Hour
	longestScrub = 30 * 24 * time.Hour
)

var (
	errBudget = domain.Invalid("budget_invalid",
		"A scrub's bounds of bodies and bytes are 0, for none, or more, and it lasts 30 days at most.").At("/budget")
	errScrubbing = domain.Conflict("scrub_under_way", "A scrub of this migration is under way. Wait until it ends.")
)

const (
	sqlOpenScrub = `
SELECT ` + reportColumns + `
  FROM migration_reports r WHERE r.tenant_id = $1 AND r.migration_id = $2 AND r.kind = 'scrub' AND r.ended_at IS NULL`
	sqlLastScrub = `
SELECT ` + reportColumns + `
  FROM migration_reports r
 WHERE r.tenant_id = $1 AND r.migration_id = $2 AND r.kind = 'scrub' AND r.ended_at IS NOT NULL
 ORDER BY r.started_at DESC, r.report_id DESC LIMIT 1`
)

// BeginScrub begins to read every body that the migration's collections have in the
// store, within a budget of its own. Workers do it, slice by slice (Scrub). One goes
// at a time; one that follows a scrub whose budget was spent, and that had found
// nothing wrong, goes on where that ended, and is about all that both have read.
//
// Errors: invalid budget_invalid; not found migration_not_found; conflict
// plan_hash_differs, migration_state, scrub_under_way, migration_moved; unavailable.
func (s *Service) BeginScrub(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan Hash, budget ScrubBudget) (Report, error) {
	budget.Duration = cmp.Or(budget.Duration, defaultScrub)
	if budget.Bodies < 0 || budget.Bytes < 0 || budget.Duration < 0 || budget.Duration > longestScrub {
		return Report{}, errBudget
	}
	m, _, err := s.standing(ctx, tenant, id, plan)
	if err != nil {
		return Report{}, err
	}
	if !m.State.acts() && m.State != Closed || m.State == Activating {
		return Report{}, errState(m.State)
	}
	var report Report
	err = s.control.ControlTx(ctx, tenant, func(tx pgx.Tx) error {
		progress, err := scrubToBeginTx(ctx, tx, &m, budget)
		if err != nil {
			return err
		}
		if report, err = beginReportTx(ctx, tx, &m, ScrubReport, s.build, actorOf(scope), budget.Duration, progress); err != nil {
			return err
		}
		// Of two that begin at once, the migration's revision lets one.
		_, err = noteTx(ctx, tx, &m, "scrub", actorOf(scope), struct {
			Report domain.ReportID `json:"report_id"`
		}{report.ID})
		return err
	})
	return report, err
}

// scrubToBeginTx refuses a second scrub beside one that is open, ends one whose time
// is over, and takes on what the last one has covered if only its budget ended it.
func scrubToBeginTx(ctx context.Context, tx pgx.Tx, m *Migration, budget ScrubBudget) (*ScrubProgress, error) {
	rows, _ := tx.Query(ctx, sqlOpenScrub, m.Tenant, m.ID)
	open, err := pgx.CollectRows(rows, scanReport)
	if err != nil {
		return nil, err
	}
	for i := range open {
		overdue, err := overdueTx(ctx, tx, &open[i])
		switch {
		case err != nil:
			return nil, err
		case !overdue:
			return nil, errScrubbing.With("report_id", open[i].ID.String())
		}
		open[i].Scrub.Spent = SpentTime
		if _, err := endScrubTx(ctx, tx, &open[i]); err != nil {
			return nil, err
		}
	}
	progress := &ScrubProgress{}
	rows, _ = tx.Query(ctx, sqlLastScrub, m.Tenant, m.ID)
	ended, err := pgx.CollectRows(rows, scanReport)
	if err != nil {
		return nil, err
	}
	if len(ended) == 1 && ended[0].Scrub.goesOn() {
		*progress = *ended[0].Scrub
		progress.Continues = &ended[0].ID
	}
	progress.Budget, progress.Spent, progress.OwnBodies, progress.OwnBytes, progress.Step = budget, "", 0, 0, 0
	return progress, nil
}

// goesOn tells of a scrub that has ended that another may go on behind it.
func (p *ScrubProgress) goesOn() bool { return p.Spent != "" && p.sound() }

// sound tells that every body that was reached is what it must be.
func (p *ScrubProgress) sound() bool { return p.Corrupt+p.Missing+p.Unreachable == 0 }

func overdueTx(ctx context.Context, tx pgx.Tx, r *Report) (overdue bool, err error) {
	return overdue, tx.QueryRow(ctx, `SELECT clock_timestamp() > $1::timestamptz`, r.Deadline).Scan(&overdue)
}

// Two workers may be at one scrub: the step lets one of them keep a page.
const (
	sqlKeepScrub = `
UPDATE migration_reports r SET progress = $4, worked_at = clock_timestamp()
 WHERE r.tenant_id = $1 AND r.migration_id = $2 AND r.report_id = $3 AND r.ended_at IS NULL AND (r.progress ->> 'step')::bigint = $5`
	sqlEndScrub = `
UPDATE migration_reports r SET progress = $4, passed = $6, report = $4, ended_at = clock_timestamp()
 WHERE r.tenant_id = $1 AND r.migration_id = $2 AND r.report_id = $3 AND r.ended_at IS NULL AND (r.progress ->> 'step')::bigint = $5`
)

// keepScrub keeps progress over the one that it was made from; kept is false when
// another worker was faster.
func (s *Service) keepScrub(ctx context.Context, r *Report, next ScrubProgress) (kept bool, err error) {
	step := next.Step
	next.Step++
	err = s.control.ControlTx(ctx, r.Tenant, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sqlKeepScrub, r.Tenant, r.Migration, r.ID, jsonOf(&next), step)
		kept = tag.RowsAffected() == 1
		return err
	})
	if kept && err == nil {
		r.Scrub = &next
	}
	return kept && err == nil, err
}

// endScrubTx ends a scrub by what it has found: it passes only if it came to the end,
// and every body was read and right.
func endScrubTx(ctx context.Context, tx pgx.Tx, r *Report) (ended bool, err error) {
	p := r.Scrub
	tag, err := tx.Exec(ctx, sqlEndScrub, r.Tenant, r.Migration, r.ID, jsonOf(p), p.Step, p.Covered && p.sound())
	return tag.RowsAffected() == 1, err
}
