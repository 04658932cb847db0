package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
)

// moving is a migration of a tenant of its own, which has one collection, orders,
// with one record, a, in format 1. Another operator than the subject's has asked for
// it and planned it, so that the subject's may approve.
type moving struct{ tenant, id, plan string }

// once makes the migration of a name once: for requests that leave it as they need it.
func (s *subject) once(t testing.TB, name string, make func(testing.TB) moving) moving {
	t.Helper()
	m, made := s.moving[name]
	if !made {
		m = make(t)
		s.moving[name] = m
	}
	return m
}

// planned is one with a plan.
func (s *subject) planned(t testing.TB) moving { return s.plannedOf(t, true) }

// plannedOf is one with a plan, of a collection with or without its record.
func (s *subject) plannedOf(t testing.TB, recorded bool) moving {
	t.Helper()
	c := s.tenant(t, s.api, fmt.Sprint("moving-", s.fresh.Add(1)), "record:write", "record:read")
	client, planner := connect(t, s.api, c.key), s.planner(t)
	if _, err := client.PutCollectionWithResponse(t.Context(), "orders", holdfast.NewCollection{}); err != nil {
		t.Fatal(err)
	}
	if recorded {
		_, err := client.PutRecordWithResponse(t.Context(), "orders", "a", &holdfast.PutRecordParams{IfNoneMatch: ptr("*")},
			holdfast.Publication{OperationID: "a", Sections: &holdfast.Sections{"items": {Body: []byte("hello")}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	asked, err := planner.RequestTenantMigrationWithResponse(t.Context(), c.id, nil, holdfast.NewTenantMigration{Kind: holdfast.NewTenantMigrationRecordBodies})
	if err != nil {
		t.Fatal(err)
	}
	id := asked.JSON201.MigrationID
	shown, err := planner.PreviewMigrationWithResponse(t.Context(), c.id, id, holdfast.NewMigrationPlan{Qualification: s.qualified(t)})
	if err != nil {
		t.Fatal(err)
	}
	return moving{c.id, id, shown.JSON200.Plan.PlanHash}
}

// approved is one that may be activated.
func (s *subject) approved(t testing.TB) moving {
	t.Helper()
	m := s.planned(t)
	s.readyToActivate(t, m)
	return m
}

// readyToActivate approves a plan, and says that a baseline has passed.
func (s *subject) readyToActivate(t testing.TB, m moving) {
	t.Helper()
	s.approve(t, m, m.plan)
	s.passed(t, m, migration.BaselineReport)
}

func (s *subject) approve(t testing.TB, m moving, hash string) {
	t.Helper()
	if _, err := s.operator(t, s.api).ApproveMigrationWithResponse(t.Context(), m.tenant, m.id, holdfast.MigrationApproval{Hash: hash}); err != nil {
		t.Fatal(err)
	}
}

// passed has a verification of the migration have passed, which nobody has read.
func (s *subject) passed(t testing.TB, m moving, kind migration.ReportKind) {
	t.Helper()
	s.inControl(t, `INSERT INTO migration_reports (tenant_id, migration_id, report_id, kind, plan_hash, build, passed, progress, report,
	                       actor_id, actor, started_at, deadline, ended_at)
	                VALUES ($1, $2, $3, $4, decode($5, 'hex'), 'x', true, '{}', '{}', $6, 'x', now(), now(), now())`,
		m.tenant, m.id, domain.NewID[domain.ReportKind](time.Now()), kind, m.plan, s.owner.principal)
}

// active is one whose bodies a run would move.
func (s *subject) active(t testing.TB) moving {
	t.Helper()
	m := s.approved(t)
	s.activate(t, m)
	return m
}

func (s *subject) activate(t testing.TB, m moving) {
	t.Helper()
	if _, err := s.planner(t).ActivateMigrationWithResponse(t.Context(), m.tenant, m.id, holdfast.NamedPlan{PlanHash: m.plan}); err != nil {
		t.Fatal(err)
	}
}

// idle ends the run and the scrub that are open, as their time would.
func (s *subject) idle(t testing.TB, m moving) moving {
	t.Helper()
	s.inControl(t, `UPDATE migration_runs SET ended_at = now(), outcome = 'time' WHERE migration_id = $1 AND ended_at IS NULL`, m.id)
	s.inControl(t, `UPDATE migration_reports SET ended_at = now(), passed = false WHERE migration_id = $1 AND kind = 'scrub' AND ended_at IS NULL`, m.id)
	return m
}

// paused is one that is paused.
func (s *subject) paused(t testing.TB) moving {
	t.Helper()
	m := s.active(t)
	if _, err := s.planner(t).PauseMigrationWithResponse(t.Context(), m.tenant, m.id, holdfast.NamedPlan{PlanHash: m.plan}); err != nil {
		t.Fatal(err)
	}
	return m
}

// verified is one that may be closed: nothing is left to move, and a recheck has
// passed.
func (s *subject) verified(t testing.TB) moving {
	t.Helper()
	m := s.plannedOf(t, false)
	s.readyToActivate(t, m)
	s.activate(t, m)
	s.inData(t, `UPDATE migration_checkpoints SET drained_at = now() WHERE migration_id = $1`, m.id)
	s.inControl(t, `UPDATE migrations SET state = 'verified' WHERE migration_id = $1`, m.id)
	s.passed(t, m, migration.RecheckReport)
	return m
}

// ofFormerBuild is a paused one whose plan is of another build than this.
func (s *subject) ofFormerBuild(t testing.TB) moving {
	t.Helper()
	m := s.paused(t)
	shown, err := s.planner(t).GetMigrationPlanWithResponse(t.Context(), m.tenant, m.id, m.plan)
	if err != nil {
		t.Fatal(err)
	}
	var packet migration.Packet
	if err := json.Unmarshal([]byte(shown.JSON200.Text), &packet); err != nil {
		t.Fatal(err)
	}
	packet.Build, packet.Floor = "former", "former"
	text, err := packet.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	hash, err := packet.Hash()
	if err != nil {
		t.Fatal(err)
	}
	s.inControl(t, `INSERT INTO migration_plans (tenant_id, migration_id, plan_hash, packet, observations, previewed_by, previewer, previewed_at, counted_at)
	                SELECT tenant_id, migration_id, $2, $3, observations, previewed_by, previewer, previewed_at, counted_at
	                  FROM migration_plans WHERE migration_id = $1`, m.id, hash[:], string(text))
	s.inControl(t, `UPDATE migrations SET plan_hash = $2 WHERE migration_id = $1`, m.id, hash[:])
	s.inData(t, `UPDATE migration_checkpoints SET plan_hash = $2, build = 'former' WHERE migration_id = $1`, m.id, hash[:])
	m.plan = hash.String()
	return m
}

// envelope is the hash of one that would carry the migration over to this build.
func (s *subject) envelope(t testing.TB, m moving) string {
	t.Helper()
	shown, err := s.planner(t).PreviewRequalificationWithResponse(t.Context(), m.tenant, m.id,
		holdfast.NewRequalification{PlanHash: m.plan, Qualification: s.qualified(t)})
	if err != nil {
		t.Fatal(err)
	}
	return shown.JSON200.EnvelopeHash
}

// reading is the id of a baseline that the subject's operator has begun.
func (s *subject) reading(t testing.TB, m moving) string {
	t.Helper()
	begun, err := s.operator(t, s.api).BeginVerificationWithResponse(t.Context(), m.tenant, m.id,
		holdfast.NewVerification{PlanHash: m.plan, Phase: holdfast.VerifyBaseline})
	if err != nil {
		t.Fatal(err)
	}
	return begun.JSON201.Report.ReportID
}

// deferring is an active one that has deferred its record.
func (s *subject) deferring(t testing.TB) moving {
	t.Helper()
	m := s.active(t)
	s.inData(t, `INSERT INTO migration_deferred (tenant_id, number, collection_id, item_key, section, reason, attempts, retry, first_at, last_at)
	             SELECT tenant_id, number, collection_id, 'a', 'items', 'length_mismatch', 1, false, now(), now()
	               FROM migration_checkpoints WHERE migration_id = $1`, m.id)
	return m
}

func (s *subject) deferred(t testing.TB, m moving) string {
	t.Helper()
	list, err := s.operator(t, s.api).ListDeferredWithResponse(t.Context(), m.tenant, m.id)
	if err != nil || len(list.JSON200.Deferred) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	return list.JSON200.Deferred[0].DeferredID
}

// planner is a client with the key of the second operator, so that the first one can
// approve.
func (s *subject) planner(t testing.TB) *holdfast.ClientWithResponses {
	t.Helper()
	return connect(t, s.api, s.secondKey)
}

// qualified is the hash of a report that says of this build that all is well, where
// the API runs. Nobody has tried it.
func (s *subject) qualified(t testing.TB) string {
	t.Helper()
	if s.qualification != "" {
		return s.qualification
	}
	runs, err := s.operator(t, s.api).ListDeploymentsWithResponse(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	runtime := runs.JSON200.Runtime
	now := time.Now().UTC().Truncate(time.Microsecond)
	q := migration.Qualification{
		Type: migration.QualificationType, Build: runtime.Build, StartedAt: now, EndedAt: now, Commands: []string{}, Observations: []migration.Observation{},
		Limits: []string{}, Passed: true, Store: migration.StorePlace{Endpoint: runtime.Store.Endpoint, Bucket: runtime.Store.Bucket, Prefix: runtime.Store.Prefix},
	}
	for _, d := range runtime.Databases {
		q.Databases = append(q.Databases, migration.Database{Name: d.Name, System: d.SystemIdentifier, OID: d.DatabaseOid, Numbers: d.Numbers})
	}
	slices.SortFunc(q.Databases, func(a, b migration.Database) int { return strings.Compare(a.Name, b.Name) })
	text, err := q.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	hash, err := q.Hash()
	if err != nil {
		t.Fatal(err)
	}
	s.inControl(t, `INSERT INTO qualifications (report_hash, build, passed, report, qualified_at) VALUES ($1, $2, true, $3, now())`, hash[:], q.Build, string(text))
	s.qualification = hash.String()
	return s.qualification
}

// inControl and inData change what no operation changes.

func (s *subject) inControl(t testing.TB, sql string, args ...any) {
	t.Helper()
	s.in(t, []string{"control"}, sql, args...)
}

func (s *subject) inData(t testing.TB, sql string, args ...any) {
	t.Helper()
	s.in(t, []string{"data1", "data2", "data3"}, sql, args...)
}

func (s *subject) in(t testing.TB, databases []string, sql string, args ...any) {
	t.Helper()
	for _, name := range databases {
		if s.admin[name] == nil {
			s.admin[name] = s.installation.Admin(t, name)
		}
		if _, err := s.admin[name].Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
}
