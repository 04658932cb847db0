package main

import (
	"bytes"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/objectstore"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// moving is an active migration of one collection, with a body for each record.
type moving struct {
	in        *testkit.Installation
	moves     *migration.Service // the API's
	records   *record.Service
	scope     tenancy.Scope
	migration migration.Migration
	bodies    map[string]record.Digest
}

func operator(name string) tenancy.Scope {
	return tenancy.Scope{Tenant: tenancy.Operators, Principal: domain.NewID[domain.PrincipalKind](time.Now()), Name: name, Scopes: tenancy.OperatorScopes()}
}

func newMoving(t *testing.T, settings objectstore.Settings, bodies int) *moving {
	t.Helper()
	m := &moving{in: testkit.Databases(t, 1), bodies: map[string]record.Digest{}}
	router := m.in.Router(t, postgres.RoleAPI)
	gates := tenancy.NewGates(router)
	tenant, _, err := tenancy.NewStore(router.Control(), gates, nil, time.Now).
		CreateTenant(t.Context(), operator("ada"), tenancy.NewTenant{Name: "acme", HandlePolicy: "ascii"})
	if err != nil {
		t.Fatal(err)
	}
	m.scope = tenancy.Scope{Tenant: tenant.ID, Principal: domain.NewID[domain.PrincipalKind](time.Now()), Name: "test"}
	m.records = record.New(router, lease.New(router, nil, lease.Options{}), testkit.OpenBodies(t, settings), record.Options{})
	m.moves = migration.New(router, tenancy.NewStore(router.Control(), gates, nil, time.Now), m.records, migration.Options{
		Build: telemetry.Build(), Place: migration.PlaceOf(settings.Endpoint, settings.Bucket),
	})
	if _, _, err := m.records.CreateCollection(t.Context(), m.scope, record.NewCollection{Name: "orders"}); err != nil {
		t.Fatal(err)
	}
	for i := range bodies {
		key, body := fmt.Sprintf("item/%02d", i), bytes.Repeat([]byte{byte(i), 0xff, 0}, 100)
		_, err := m.records.Publish(t.Context(), m.scope, "orders", nil, record.Publication{
			Key: key, OperationID: key, Bodies: map[string][]byte{"items": body}, Expect: record.Expectation{Absent: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		m.bodies[key] = record.DigestOf(body)
	}
	m.activate(t)
	return m
}

// activate takes the migration from its request to its first run. What a
// qualification and a baseline see is tested where they are made.
func (m *moving) activate(t *testing.T) {
	t.Helper()
	planner, approver := operator("planner"), operator("approver")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	runtime, err := m.moves.Runtime(t.Context())
	must(err)
	now := time.Now().UTC().Truncate(time.Microsecond)
	qualified, err := m.moves.RecordQualification(t.Context(), migration.Qualification{
		Type: migration.QualificationType, Build: runtime.Build, StartedAt: now, EndedAt: now, Databases: runtime.Databases, Store: runtime.Store,
		Commands: []string{"qualify"}, Observations: []migration.Observation{{Promise: "bodies come back", Passed: true}},
		Forward: migration.Movement{Records: 1, LowRecords: 600, HighRecords: 6000, LowBytes: 1 << 20, HighBytes: 8 << 20}, Limits: []string{}, Passed: true,
	})
	must(err)
	asked, _, err := m.moves.Ask(t.Context(), m.scope, m.scope.Tenant, migration.Request{Kind: migration.RecordBodies, Collections: []string{"orders"}})
	must(err)
	shown, plan, err := m.moves.Preview(t.Context(), planner, asked.Tenant, asked.ID, migration.Preview{Qualification: qualified})
	must(err)
	_, err = m.in.Admin(t, "control").Exec(t.Context(), `
INSERT INTO migration_reports (tenant_id, migration_id, report_id, kind, plan_hash, build, passed, progress, report, actor_id, actor, started_at, deadline, ended_at)
VALUES ($1, $2, gen_random_uuid(), 'baseline', $3, $4, true, '{}', '{}', $5, 'planner', now(), now(), now())`,
		shown.Tenant, shown.ID, plan.Hash[:], runtime.Build, planner.Principal)
	must(err)
	_, err = m.moves.Approve(t.Context(), approver, shown.Tenant, shown.ID, plan.Hash)
	must(err)
	activated, err := m.moves.Activate(t.Context(), planner, shown.Tenant, shown.ID, plan.Hash)
	must(err)
	m.migration = activated.Migration
	_, err = m.moves.Run(t.Context(), planner, shown.Tenant, shown.ID, plan.Hash)
	must(err)
}

// A worker is killed again and again, each time in the middle of a pass, when an
// object is in the store and nobody knows it yet. The next one goes on with the run,
// and every body is moved once.
func TestWorker_ARunSurvivesTheWorkersThatDoIt(t *testing.T) {
	t.Parallel()
	const bodies, kills = 40, 3
	faults := testkit.NewStoreFaults(t)
	settings := faults.Proxied(t, testkit.BodyStore(t))
	hung := make(chan struct{}, kills)
	for range kills {
		faults.On(http.MethodPut, nil, nil, nil, nil, nil, nil, func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
			answer, err := pass()
			if err == nil {
				answer.Body.Close()
			}
			hung <- struct{}{}
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
	}
	m := newMoving(t, settings, bodies)
	environ := append(environ(m.in), testkit.BodiesEnviron(settings)...)
	for range kills {
		w := startProcess(t, environ)
		select {
		case <-hung:
		case <-time.After(2 * time.Minute):
			t.Fatal("the worker doesn't come to its next pass")
		}
		if err := w.command.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		w.exit(t)
		// As River does when it has heard nothing of the job for a minute.
		if _, err := m.in.Admin(t, "control").Exec(t.Context(), `UPDATE river_job SET state = 'available' WHERE state = 'running'`); err != nil {
			t.Fatal(err)
		}
	}
	w := startProcess(t, environ)
	awaitCount(t, m.in, "control", `SELECT count(*) FROM migrations WHERE state = 'drained'`, 1)
	if err := w.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := w.exit(t); code != exitOK {
		t.Errorf("the exit code is %d", code)
	}

	runs, err := m.moves.Runs(t.Context(), m.migration.Tenant, m.migration.ID)
	if err != nil || len(runs) != 1 || runs[0].Outcome != migration.OutcomeDrained {
		t.Errorf("the runs are %+v (%v), want one that has drained the collection", runs, err)
	}
	var moved, left int
	err = m.in.Admin(t, "data1").QueryRow(t.Context(),
		`SELECT (SELECT bodies FROM migration_checkpoints), (SELECT count(*) FROM sections_in_sql)`).Scan(&moved, &left)
	if err != nil || moved != bodies || left != 0 {
		t.Errorf("%d bodies were counted, and %d are left in SQL (%v), want %d and none", moved, left, err, bodies)
	}
	got := map[string]record.Digest{}
	for after, more := int64(0), true; more; {
		page, err := m.records.Export(t.Context(), m.scope, "orders", record.ExportRequest{After: after, Bodies: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Records {
			got[e.Key] = record.DigestOf(e.Body)
		}
		page.Close()
		after, more = page.Next, page.More
	}
	if diff := cmp.Diff(m.bodies, got); diff != "" {
		t.Errorf("the bodies (-want +got):\n%s", diff)
	}
}
