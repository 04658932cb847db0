package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/jobs"
	"github.com/holdfast-dev/holdfast/internal/objectstore"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// A tenant's migration from the first word to the last, by the commands alone, on
// real databases, a real bucket, the API and a worker.
func TestMigrationStory_FromTheRequestToTheClosing(t *testing.T) {
	t.Parallel()
	bucket := testkit.OwnBucket(t)
	s := serveOn(t, bucket, "data1", "data2")
	s.work(t, bucket)
	must(t, s.migrations.Report(t.Context(), s.migrations.This(migration.ProcessAPI)))
	tenant := told[holdfast.Tenant](t, s, "tenant", "create", "acme").ID
	s.publish(t, tenant, 12)

	var qualified struct{ Hash string }
	qualify := execute(t, slices.Concat(s.installation.Environ(), testkit.BodiesEnviron(bucket)), "qualify", "--json")
	must(t, json.Unmarshal([]byte(qualify.stdout), &qualified))
	if got := s.said(t, "qualification", "list"); !strings.Contains(got, qualified.Hash+"  "+telemetry.Build()+"  yes") {
		t.Errorf("qualification list says\n%s", got)
	}
	if got := s.said(t, "deployments"); !strings.Contains(got, "  api   "+telemetry.Build()) || !strings.Contains(got, "bucket "+bucket.Bucket) {
		t.Errorf("deployments says\n%s", got)
	}

	id := told[holdfast.Migration](t, s, "migration", "request", tenant, "--execute").MigrationID
	of := func(command string, args ...string) []string {
		return append([]string{"migration", command, tenant, id}, args...)
	}
	plan := told[holdfast.MigrationPlan](t, s, of("preview", "--qualification", qualified.Hash)...)
	if plan.Observations.Total.Records != 12 || plan.Observations.Total.LiveSections != 24 {
		t.Errorf("the preview counts %+v", plan.Observations.Total)
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(s.said(t, of("plan", "--packet")...)))); sum != plan.PlanHash {
		t.Errorf("the packet's hash is %s, and the plan's %s", sum, plan.PlanHash)
	}
	if got := s.said(t, of("drift")...); !strings.HasPrefix(got, "Nothing differs") {
		t.Errorf("drift says %s", got)
	}

	if got := execute(t, s.as(s.operatorKey), of("approve", "--hash", plan.PlanHash, "--execute")...); got.code != exitFailed || !strings.Contains(got.stderr, "Another operator has to.") {
		t.Errorf("who asked approves: %+v", got)
	}
	second := told[holdfast.Principal](t, s, "operator", "create", "second", "--scopes", "operator:approve,operator:migrate")
	key := told[holdfast.CreatedAPIKey](t, s, "operator", "key", "create", second.ID).APIKey
	if got := execute(t, s.as(key), of("approve", "--hash", plan.PlanHash, "--execute")...); got.code != exitOK || !strings.Contains(got.stdout, "STATE         approved\n") {
		t.Fatalf("approve: %+v", got)
	}
	activate := of("activate", "--plan", plan.PlanHash, "--execute")
	if got := execute(t, s.as(s.operatorKey), activate...); got.code != exitFailed || !strings.Contains(got.stderr, "(baseline_missing, request ") {
		t.Errorf("activate without a baseline: %+v", got)
	}
	if got := s.said(t, of("verify", "--phase", "baseline", "--execute")...); !strings.HasPrefix(got, "The baseline passed. The migration is approved.\nRead: 2 of 2 collections") {
		t.Errorf("the baseline says %s", got)
	}
	if got := execute(t, s.as(s.operatorKey), activate...); got.code != exitOK || !strings.Contains(got.stdout, "This was the point of no return.") {
		t.Fatalf("activate: %+v", got)
	}

	run := execute(t, s.as(s.operatorKey), of("run", "--execute", "--watch", "--every", "50ms")...)
	if run.code != exitOK || !strings.Contains(run.stdout, "MOVED             12 of 12 records, 24 bodies") || !strings.Contains(run.stderr, " drained, 12 of 12 records moved") {
		t.Fatalf("run --watch: %+v", run)
	}
	recheck := told[holdfast.MigrationReport](t, s, of("verify", "--phase", "recheck", "--execute")...)
	if recheck.Verdict == nil || recheck.Verdict.Outcome != "passed" || recheck.Verdict.Coverage.Records != 12 || recheck.Observed == nil {
		t.Errorf("the recheck is %+v", recheck)
	}
	scrub := execute(t, s.as(s.operatorKey), of("scrub", "--execute", "--watch", "--every", "50ms")...)
	if scrub.code != exitOK || !strings.Contains(scrub.stdout, "The scrub came to the end") || !strings.Contains(scrub.stdout, "Read: 24 of 24 bodies") {
		t.Errorf("scrub --watch: %+v", scrub)
	}
	if got := execute(t, s.as(s.operatorKey), of("close", "--plan", plan.PlanHash, "--decision", "It's all there.", "--execute")...); got.code != exitOK || !strings.Contains(got.stdout, "STATE         closed\n") {
		t.Errorf("close: %+v", got)
	}
	shown := told[holdfast.TenantMigrationStatus](t, s, of("show")...)
	var acts []string
	for _, transition := range shown.Transitions {
		acts = append(acts, transition.Act+" by "+transition.Actor.Name)
	}
	if shown.Migration.State != "closed" || !slices.Contains(acts, "approve by second") || len(shown.Reports) != 3 {
		t.Errorf("in the end it is %s, after %v, with %d reports", shown.Migration.State, acts, len(shown.Reports))
	}
	if listed := told[[]holdfast.Migration](t, s, "migration", "list", tenant); len(listed) != 1 || listed[0].State != "closed" {
		t.Errorf("migration list says %+v", listed)
	}
}

// work works the jobs as a worker does, until the test ends.
func (s *service) work(t *testing.T, bucket objectstore.Settings) {
	t.Helper()
	router := s.installation.Router(t, postgres.RoleWorker)
	bodies := testkit.OpenBodies(t, bucket)
	store := tenancy.NewStore(router.Control(), tenancy.NewGates(router), nil, time.Now)
	leases := lease.New(router, nil, lease.Options{Purpose: tenancy.Maintain, Signer: tenancy.NewCheckpointKeys(store)})
	runner, err := jobs.NewRunner(jobs.Options{
		Control: router.Control(), Databases: router.Databases(), Build: telemetry.Build(), SweepEvery: time.Hour,
		Telemetry: &telemetry.Telemetry{Log: slog.New(slog.DiscardHandler), Tracers: tracenoop.NewTracerProvider(), Meters: metricnoop.NewMeterProvider()},
		Identity:  identity.New(router, nil, identity.Options{}), Leases: leases,
		Records: record.New(router, leases, bodies, record.Options{Purpose: tenancy.Maintain}),
		Migrations: migration.New(router, store, record.New(router, leases, bodies, record.Options{}), migration.Options{
			Build: telemetry.Build(), Place: migration.PlaceOf(bucket.Endpoint, bucket.Bucket),
		}),
	})
	must(t, err)
	must(t, runner.Start(t.Context()))
	t.Cleanup(func() {
		if err := runner.Stop(context.Background()); err != nil {
			t.Errorf("stop working: %v", err)
		}
	})
}

// publish makes records of two bodies each, by turns in two collections.
func (s *service) publish(t *testing.T, tenant string, records int) {
	t.Helper()
	of, err := domain.ParseID[domain.TenantKind](tenant)
	must(t, err)
	scope := tenancy.Scope{Tenant: of, Principal: domain.NewID[domain.PrincipalKind](time.Now()), Name: "tester"}
	collections := []string{"ledger", "orders"}
	for _, name := range collections {
		_, _, err := s.records.CreateCollection(t.Context(), scope, record.NewCollection{Name: name})
		must(t, err)
	}
	for i := range records {
		key := fmt.Sprint("r-", i)
		_, err := s.records.Publish(t.Context(), scope, collections[i%2], nil, record.Publication{
			Key: key, OperationID: key, Expect: record.Expectation{Absent: true},
			Bodies: map[string][]byte{"items": []byte("items of " + key), "plans": []byte("plans of " + key)},
		})
		must(t, err)
	}
}
