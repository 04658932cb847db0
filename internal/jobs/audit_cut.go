package jobs

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/domain"
)

// auditEvery is how often entries of the audit log are cut off that have had their
// 400 days: seldom, since each time leaves an entry that says so.
const auditEvery = 24 * time.Hour

// AuditCut takes old entries off the front of the audit log.
type AuditCut struct{}

// Kind is the job's name in River's tables.
func (AuditCut) Kind() string { return "audit_cut" }

// InsertOpts: one job.
func (AuditCut) InsertOpts() river.InsertOpts { return oneOnDatabase(queueCleanup) }

type auditCutter struct {
	river.WorkerDefaults[AuditCut]
	*sweeping
	log *audit.Log
}

func newAuditCutter(shared *sweeping, control *pgxpool.Pool) *auditCutter {
	return &auditCutter{sweeping: shared, log: audit.New(auditControl{control}, nil, time.Now)}
}

// Work does one run, step by step. What it leaves is for the next.
func (w *auditCutter) Work(ctx context.Context, _ *river.Job[AuditCut]) error {
	run := w.newRun(scheduleOfAll)
	for run.mayGoOn(ctx) {
		removed, err := w.log.CutOff(ctx)
		if err != nil {
			return err
		}
		run.steps++
		run.recovered += int(removed)
		if removed == 0 {
			return run.end(true)
		}
	}
	return run.end(false)
}

// auditControl enters transactions of the control database as the log asks for, which
// is as the operators: it is the installation's.
type auditControl struct{ control *pgxpool.Pool }

func (c auditControl) ControlTx(ctx context.Context, _ domain.TenantID, fn func(pgx.Tx) error) error {
	return asOperator(ctx, c.control, fn)
}

func (c auditControl) OperatorsTx(ctx context.Context, _ domain.TenantID, fn func(pgx.Tx) error) error {
	return asOperator(ctx, c.control, fn)
}

func (c auditControl) ControlRead(ctx context.Context, _ domain.TenantID, fn func(pgx.Tx) error) error {
	return asOperator(ctx, c.control, fn)
}
