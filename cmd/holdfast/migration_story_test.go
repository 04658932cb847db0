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

// story is a tenant with records, on real databases and a real bucket, with the API
// and a worker, and a migration of it that two operators make by the commands alone.
type story struct {
	*service
	bucket        objectstore.Settings
	tenant        string
	approver      string // the second operator's key
	qualification string
	id            string // of the migration
	plan          holdfast.MigrationPlan
}

func newStory(t *testing.T, records int) *story {
	t.Helper()
	bucket := testkit.OwnBucket(t)
	s := &story{service: serveOn(t, bucket, "data1", "data2"), bucket: bucket}
	s.work(t, bucket)
	must(t, s.migrations.Report(t.Context(), s.migrations.This(migration.ProcessAPI)))
	s.tenant = told[holdfast.Tenant](t, s.service, "tenant", "create", "acme").ID
	s.publish(t, s.tenant, records)
	s.approver = s.graceKey
	var qualified struct{ Hash string }
	qualify := execute(t, slices.Concat(s.installation.Environ(), testkit.BodiesEnviron(bucket)), "qualify", "--json")
	must(t, json.Unmarshal([]byte(qualify.stdout), &qualified))
	s.qualification = qualified.Hash
	return s
}

// of is a command about the migration.
func (s *story) of(command string, args ...string) []string {
	return append(append([]string{"migration"}, strings.Fields(command)...), append([]string{s.tenant, s.id}, args...)...)
}

// does runs a command about the migration as the first operator.
func (s *story) does(t *testing.T, command string, args ...string) result {
	t.Helper()
	return execute(t, s.as(s.operatorKey), s.of(command, args...)...)
}

// did likewise demands an exit code and a text on the standard output.
func (s *story) did(t *testing.T, code int, says, command string, args ...string) result {
	t.Helper()
	got := s.does(t, command, args...)
	if got.code != code || !strings.Contains(got.stdout, says) {
		t.Fatalf("%s: %+v, want code %d and %q", command, got, code, says)
	}
	return got
}

func (s *story) approves(t *testing.T) {
	t.Helper()
	if got := execute(t, s.as(s.approver), s.of("approve", "--hash", s.plan.PlanHash, "--execute")...); got.code != exitOK {
		t.Fatalf("approve: %+v", got)
	}
}

func (s *story) previewed(t *testing.T) {
	t.Helper()
	s.id = told[holdfast.Migration](t, s.service, "migration", "request", s.tenant, "--execute").MigrationID
	s.plan = told[holdfast.MigrationPlan](t, s.service, s.of("preview", "--qualification", s.qualification)...)
}

func TestMigrationStory_FromTheRequestToTheClosing(t *testing.T) {
	t.Parallel()
	s := newStory(t, 12)
	if got := s.said(t, "qualification", "list"); !strings.Contains(got, s.qualification+"  "+telemetry.Build()+"  yes") {
		t.Errorf("qualification list says\n%s", got)
	}
	if got := s.said(t, "deployments"); !strings.Contains(got, "  api   "+telemetry.Build()) || !strings.Contains(got, "bucket "+s.bucket.Bucket) {
		t.Errorf("deployments says\n%s", got)
	}
	s.previewed(t)
	if s.plan.Observations.Total.Records != 12 || s.plan.Observations.Total.LiveSections != 24 {
		t.Errorf("the preview counts %+v", s.plan.Observations.Total)
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(s.said(t, s.of("plan", "--packet")...)))); sum != s.plan.PlanHash {
		t.Errorf("the packet's hash is %s, and the plan's %s", sum, s.plan.PlanHash)
	}
	s.did(t, exitOK, "Nothing differs", "drift")

	if got := s.does(t, "approve", "--hash", s.plan.PlanHash, "--execute"); got.code != exitFailed || !strings.Contains(got.stderr, "Another operator has to.") {
		t.Errorf("who asked approves: %+v", got)
	}
	s.approves(t)
	s.did(t, exitDiffers, "But it would be refused: no baseline of this plan has passed.", "activate", "--plan", s.plan.PlanHash)
	if got := s.does(t, "activate", "--plan", s.plan.PlanHash, "--execute"); got.code != exitDiffers || !strings.Contains(got.stderr, "(baseline_missing, request ") {
		t.Errorf("activate without a baseline: %+v", got)
	}
	s.did(t, exitOK, "The baseline passed. The migration is approved.\nRead: 2 of 2 collections", "verify", "--phase", "baseline", "--execute")
	s.did(t, exitOK, "This was the point of no return.", "activate", "--plan", s.plan.PlanHash, "--execute")
	run := s.did(t, exitOK, "MOVED             12 of 12 records, 24 bodies", "run", "--execute", "--watch", "--every", "50ms")
	if !strings.Contains(run.stderr, " drained, 12 of 12 records moved") {
		t.Errorf("run --watch follows by\n%s", run.stderr)
	}
	recheck := told[holdfast.MigrationReport](t, s.service, s.of("verify", "--phase", "recheck", "--execute")...)
	if recheck.Verdict == nil || recheck.Verdict.Outcome != "passed" || recheck.Verdict.Coverage.Records != 12 || recheck.Observed == nil {
		t.Errorf("the recheck is %+v", recheck)
	}
	s.did(t, exitOK, "The scrub came to the end: it covered every body that the collections keep in the object store.\nRead: 24 of 24 bodies",
		"scrub", "--execute", "--watch", "--every", "50ms")
	s.did(t, exitOK, "STATE         closed\n", "close", "--plan", s.plan.PlanHash, "--decision", "It's all there.", "--execute")
	s.did(t, exitOK, "It was closed already, by first at ", "close", "--plan", s.plan.PlanHash, "--decision", "Again.", "--execute")

	shown := told[holdfast.TenantMigrationStatus](t, s.service, s.of("show")...)
	var acts []string
	for _, transition := range shown.Transitions {
		acts = append(acts, transition.Act+" by "+transition.Actor.Name)
	}
	if shown.Migration.State != "closed" || !slices.Contains(acts, "approve by grace") || len(shown.Reports) != 3 {
		t.Errorf("in the end it is %s, after %v, with %d reports", shown.Migration.State, acts, len(shown.Reports))
	}
	if listed := told[[]holdfast.Migration](t, s.service, "migration", "list", s.tenant); len(listed) != 1 || listed[0].State != "closed" {
		t.Errorf("migration list says %+v", listed)
	}
}

func TestMigrationStory_StoppedByADefect_GoesOnBehindAReview(t *testing.T) {
	t.Parallel()
	s := newStory(t, 6)
	s.previewed(t)
	s.approves(t)
	s.did(t, exitOK, "passed", "verify", "--phase", "baseline", "--execute")
	s.did(t, exitOK, "point of no return", "activate", "--plan", s.plan.PlanHash, "--execute")
	flip := `UPDATE sections_in_sql SET content = set_byte(content, 0, get_byte(content, 0) # 1) WHERE item_key = 'r-1' AND section = 'items'`
	s.everywhere(t, flip)

	s.did(t, exitOK, "STATE         paused\n", "pause", "--execute")
	s.did(t, exitOK, "Then a pass inspects 64 rows, moves 1 record of 8.0 MiB", "caps", "--records", "1")
	s.did(t, exitOK, "STATE         paused\n", "caps", "--records", "1", "--execute")
	s.did(t, exitOK, "moves 1 record of", "show")
	s.did(t, exitLater, "paused", "show", "--watch")
	if got := s.does(t, "run", "--execute"); got.code != exitDiffers || !strings.Contains(got.stderr, "\n  the migration is paused\n") {
		t.Errorf("run of a paused one: %+v", got)
	}
	s.did(t, exitOK, "It was paused by first.", "resume")
	s.did(t, exitOK, "STATE         active\n", "resume", "--execute")

	run := s.did(t, exitDiffers, "(source_defect)", "run", "--execute", "--watch", "--every", "50ms")
	if !strings.Contains(run.stdout, "MOVED             5 of 6 records") || !strings.Contains(run.stdout, "NEXT STEP         List the deferred sections.") {
		t.Errorf("run --watch ends by\n%s", run.stdout)
	}
	s.did(t, exitDiffers, `"r-1"`, "deferred list")
	listed := s.does(t, "deferred list", "--json")
	var deferred []holdfast.DeferredSection
	must(t, json.Unmarshal([]byte(listed.stdout), &deferred))
	s.everywhere(t, flip)
	s.did(t, exitOK, "TRIED AGAIN  yes\n", "deferred retry", deferred[0].DeferredID, "--execute")
	if got := s.does(t, "resume", "--execute"); got.code != exitFailed || !strings.Contains(got.stderr, "(approval_missing, request ") {
		t.Errorf("resume without an approval: %+v", got)
	}
	s.approves(t)
	s.did(t, exitOK, "STATE         active\n", "resume", "--execute")
	s.did(t, exitOK, "MOVED             6 of 6 records", "run", "--execute", "--watch", "--every", "50ms")
	s.did(t, exitOK, "", "deferred list")
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
