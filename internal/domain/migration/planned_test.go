package migration

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// The people of these tests: one asks, one makes plans, one approves them.
var asker, planner, approver = operator("asker"), operator("planner"), operator("approver")

// qualified records a report by which a build is qualified for what these tests run
// on.
func (m *moving) qualified(t testing.TB, s *Service) Hash {
	t.Helper()
	runtime, err := s.Runtime(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	hash, err := s.RecordQualification(t.Context(), Qualification{
		Type: QualificationType, Build: runtime.Build, StartedAt: now, EndedAt: now, Databases: runtime.Databases, Store: runtime.Store,
		Commands: []string{"qualify"}, Observations: []Observation{{Promise: "bodies come back", Passed: true}},
		Forward: Movement{Records: 1, LowRecords: 600, HighRecords: 6000, LowBytes: 1 << 20, HighBytes: 8 << 20}, Limits: []string{}, Passed: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// ask asks for a migration of some collections, or of all.
func (m *moving) ask(t testing.TB, kind Kind, collections ...string) Migration {
	t.Helper()
	asked, _, err := m.api.Ask(t.Context(), asker, m.scope.Tenant, Request{Kind: kind, Collections: collections})
	if err != nil {
		t.Fatal(err)
	}
	return asked
}

// previewed makes a plan of what was asked for.
func (m *moving) previewed(t testing.TB, asked Migration) (Migration, Plan) {
	t.Helper()
	shown, plan, err := m.api.Preview(t.Context(), planner, asked.Tenant, asked.ID, Preview{Qualification: m.qualified(t, m.api), FreeBytes: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	return shown, plan
}

// approved makes a plan, and has it approved.
func (m *moving) approved(t testing.TB, asked Migration) Migration {
	t.Helper()
	shown, plan := m.previewed(t, asked)
	m.baseline(t, shown)
	approved, err := m.api.Approve(t.Context(), approver, shown.Tenant, shown.ID, plan.Hash)
	if err != nil {
		t.Fatal(err)
	}
	return approved
}

// active is a migration that has passed the point of no return.
func (m *moving) active(t testing.TB, kind Kind, collections ...string) Migration {
	t.Helper()
	approved := m.approved(t, m.ask(t, kind, collections...))
	a, err := m.api.Activate(t.Context(), planner, approved.Tenant, approved.ID, approved.PlanHash)
	if err != nil {
		t.Fatal(err)
	}
	return a.Migration
}

// baseline records a baseline that passed. What a real one reads is tested with
// verifications.
func (m *moving) baseline(t testing.TB, of Migration) { m.report(t, of, "baseline") }

func (m *moving) report(t testing.TB, of Migration, kind string) {
	t.Helper()
	err := m.api.control.ControlTx(t.Context(), of.Tenant, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `INSERT INTO migration_reports (tenant_id, migration_id, report_id, kind, plan_hash, build, passed, progress, report,
			actor_id, actor, started_at, deadline, ended_at) VALUES ($1, $2, $3, $4, $5, 'build-1', true, '{}', '{}', $6, 'planner', now(), now(), now())`,
			of.Tenant, of.ID, domain.NewID[domain.ReportKind](time.Now()), kind, of.PlanHash[:], planner.Principal)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// run asks for a run, and has a worker do it to its end.
func (m *moving) run(t testing.TB, of Migration) Run {
	t.Helper()
	run, err := m.api.Run(t.Context(), planner, of.Tenant, of.ID, of.PlanHash)
	if err != nil {
		t.Fatal(err)
	}
	return m.worked(t, m.Service, run)
}

// worked has a worker do a run to its end, in short shifts.
func (m *moving) worked(t testing.TB, worker *Service, run Run) Run {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for ended := false; !ended; {
		if time.Now().After(deadline) {
			t.Fatal("the run doesn't end")
		}
		var err error
		if ended, err = worker.Work(t.Context(), run.Tenant, run.Migration, run.ID, time.Now().Add(2*time.Second)); err != nil {
			t.Fatalf("a shift: %v", err)
		}
	}
	return m.lastRun(t, run.Migration)
}

func (m *moving) lastRun(t testing.TB, id domain.MigrationID) Run {
	t.Helper()
	runs, err := m.api.Runs(t.Context(), m.scope.Tenant, id)
	if err != nil || len(runs) == 0 {
		t.Fatalf("runs: %v, %v", runs, err)
	}
	return runs[0]
}

// now is a migration as it stands.
func (m *moving) now(t testing.TB, id domain.MigrationID) Migration {
	t.Helper()
	now, err := m.api.Migration(t.Context(), m.scope.Tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	return now
}

// refused holds an act to be refused by a code, and to have changed nothing of the
// migration.
func (m *moving) refused(t testing.TB, code string, id domain.MigrationID, act func(ctx context.Context) error) {
	t.Helper()
	before := m.now(t, id)
	if err := act(t.Context()); domain.CodeOf(err) != code {
		t.Errorf("the act gave %v, want %s", err, code)
	}
	if after := m.now(t, id); after.Revision != before.Revision || after.State != before.State {
		t.Errorf("it took the migration from %s at %d to %s at %d", before.State, before.Revision, after.State, after.Revision)
	}
}
