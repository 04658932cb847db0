package httpapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func ownMigration(id domain.MigrationID) string { return "/v1/migrations/" + id.String() }

func TestRequestMigration_OfATenantIsForItselfAndOneWay(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	for key, replayed := range map[string]string{"k": "", "replayed": "true"} {
		w := a.do(t, request{method: "POST", target: "/v1/migrations", body: `{"kind":"record_bodies"}`, headers: []string{"Idempotency-Key: " + key}})
		if w.Code != http.StatusCreated || w.Header().Get("Idempotent-Replayed") != replayed {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
		want := asked{Act: "ask", Tenant: testTenant, About: migration.Request{Kind: migration.RecordBodies, Key: key}}
		if diff := cmp.Diff(want, a.migrations.got); diff != "" {
			t.Errorf("asked for (-want +got):\n%s", diff)
		}
	}
	for _, body := range []string{`{"kind":"rehydrate"}`, `{}`, `{"kind":"record_bodies","collections":[]}`, `{"kind":"record_bodies","tenant_id":"` + otherTenant.String() + `"}`} {
		if p := problemIn(t, a.do(t, request{method: "POST", target: "/v1/migrations", body: body})); p.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", body, p.Status, p.Code)
		}
	}
}

func TestGetMigration_TellsAllInPlainWords(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	w := a.do(t, request{method: "GET", target: ownMigration(stoppedMigration.ID)})
	var status MigrationStatus
	if err := json.Unmarshal(w.Body.Bytes(), &status); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	m := status.Migration
	stop := &MigrationStop{
		Category: "source_defect", FromState: "active", Detail: "Some sections aren't what their rows say, and were left where they are.",
		Collection: textOrNil("orders"), Key: textOrNil("a"), Section: textOrNil("items"), NextStep: "Publish it anew.",
	}
	if diff := cmp.Diff(stop, m.Stop); diff != "" || *m.PlanHash != thePlan.String() || len(m.FormerPlanHashes) != 1 || m.Caps.Records != 4 || m.EnvelopeHash != nil || m.HeldBy != nil {
		t.Errorf("%s\nits stop (-want +got):\n%s", w.Body, diff)
	}
	p := status.Progress
	reason := []MigrationReason{{Code: "stopped", Text: "The migration is stopped for a review.", Detail: textOrNil("source_defect")}}
	if diff := cmp.Diff(reason, p.Reasons); diff != "" || p.Next.Code != "none" || p.Next.Text == "" || *p.RemainingSeconds != 2 || p.Pace5Minutes != nil || p.Pace60Minutes.RecordsPerSecond != 0.5 || p.Total.Records != 8 {
		t.Errorf("%+v\nits reasons (-want +got):\n%s", p, diff)
	}
	if c := p.Collections[0]; c.Collection != "orders" || !c.Held || c.Frontier != 10 || c.DrainedAt != nil || c.ClosedAt != nil {
		t.Errorf("%+v", c)
	}
	first, last := status.Transitions[0], status.Transitions[1]
	if first.FromState != nil || *first.Actor.ID == "" || last.Actor.ID != nil || last.Actor.Name != "holdfast" || string(last.Note) != `{"n":12345678901234567890}` {
		t.Errorf("%+v", status.Transitions)
	}
	for _, absent := range []string{`"runs"`, `"reports"`} {
		if strings.Contains(w.Body.String(), absent) {
			t.Errorf("a tenant is told of %s", absent)
		}
	}
}

func TestGetMigration_WithoutAPlanHasNoneOfItsParts(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	w := a.do(t, request{method: "GET", target: ownMigration(requestedMigration.ID)})
	const want = `{"migration":{"changed_at":"2026-11-30T12:00:00Z","former_plan_hashes":[],"kind":"rehydrate","migration_id":"02000000-0000-0000-0000-000000000000",` +
		`"requested_at":"2026-11-30T12:00:00Z","requested_by":{"id":"0a000000-0000-0000-0000-000000000001","name":"grace"},"revision":1,"state":"requested",` +
		`"tenant_id":"01000000-0000-0000-0000-000000000009"}`
	if got := w.Body.String(); !strings.HasPrefix(got, want) {
		t.Errorf("body is   %s\nwant first %s", got, want)
	}
}

func TestGetTenantMigration_HasRunsAndReportsToo(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	w := a.do(t, request{method: "GET", target: theMigration, token: "migrator"})
	var status TenantMigrationStatus
	if err := json.Unmarshal(w.Body.Bytes(), &status); err != nil || w.Code != http.StatusOK || len(status.Runs) != 1 || len(status.Reports) != 2 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if run := status.Runs[0]; *run.Outcome != "stopped" || run.EndedAt == nil || run.AskedBy != "grace" {
		t.Errorf("%+v", run)
	}
	scrub, recheck := status.Reports[0], status.Reports[1]
	if scrub.Passed != nil || scrub.EndedAt != nil || scrub.Scrub == nil || scrub.Verdict != nil {
		t.Errorf("%+v", scrub)
	}
	if *recheck.Passed || recheck.Verdict.Findings == nil || recheck.Scrub != nil || recheck.Observed != nil {
		t.Errorf("%+v", recheck)
	}
	w = a.do(t, request{method: "GET", target: theMigration + "/reports/" + recheckReport.ID.String(), token: "migrator"})
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"observed":{`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestListMigrations_CursorsAreATenantsOwn(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.store.known = tenancy.Tenant{ID: testTenant}
	get := func(target, token string) (page MigrationPage) {
		t.Helper()
		w := a.do(t, request{method: "GET", target: target, token: token})
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return page
	}
	for target, token := range map[string]string{"/v1/migrations": "tenant", tenantMigrations: "migrator"} {
		first := get(target+"?limit=1", token)
		if len(first.Migrations) != 1 || first.NextCursor == nil || a.migrations.got.About != 1 {
			t.Fatalf("%s: the first page is %+v", target, first)
		}
		second := get(target+"?limit=1&cursor="+*first.NextCursor, token)
		if len(second.Migrations) != 1 || second.NextCursor != nil || a.migrations.got.Migration != stoppedMigration.ID {
			t.Errorf("%s: the second page is %+v", target, second)
		}
		if p := problemIn(t, a.do(t, request{method: "GET", target: "/v1/migrations?cursor=" + *first.NextCursor, token: "other"})); p.Code != "cursor_invalid" {
			t.Errorf("another's cursor: %+v", p)
		}
	}
	if nothing := get("/v1/migrations", "other"); nothing.Migrations == nil || len(nothing.Migrations) != 0 {
		t.Errorf("another's list is %+v", nothing)
	}
}

// What isn't an id, an id that nothing has, and another tenant's are the same.
func TestMigrations_WhatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	for _, q := range []request{
		{method: "GET", target: "/v1/migrations/x"},
		{method: "GET", target: ownMigration(domain.MigrationID{9})},
		{method: "GET", target: ownMigration(stoppedMigration.ID), token: "other"},
		{method: "GET", target: tenantMigrations + "/x", token: "migrator"},
	} {
		if p := problemIn(t, a.do(t, q)); p.Status != http.StatusNotFound || p.Code != "migration_not_found" {
			t.Errorf("%s: %d %s", q.target, p.Status, p.Code)
		}
	}
	zero := migration.Hash{}.String()
	for target, code := range map[string]string{
		theMigration + "/plans/x":           "plan_not_found",
		theMigration + "/plans/" + zero:     "plan_not_found",
		theMigration + "/envelopes/x":       "envelope_not_found",
		theMigration + "/envelopes/" + zero: "envelope_not_found",
		theMigration + "/reports/x":         "report_not_found",
		tenantMigrations:                    "tenant_not_found", // the fake store knows none
		"/v1/tenants/x/migrations":          "tenant_not_found",
		"/v1/qualifications/x":              "qualification_not_found",
	} {
		token := "migrator"
		if strings.HasPrefix(target, "/v1/qual") {
			token = "operator"
		}
		if p := problemIn(t, a.do(t, request{method: "GET", target: target, token: token})); p.Status != http.StatusNotFound || p.Code != code {
			t.Errorf("%s: %d %s, want %s", target, p.Status, p.Code, code)
		}
	}
	w := a.do(t, request{method: "POST", target: tenantMigrations, token: "migrator", body: `{"kind":"rehydrate"}`})
	if p := problemIn(t, w); p.Code != "tenant_not_found" || a.migrations.got.Act != "" {
		t.Errorf("of a tenant that isn't there: %s, and the domain was asked for %q", p.Code, a.migrations.got.Act)
	}
}

func TestMigrations_PlansDriftEnvelopesAndDeferredAreShown(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	envelope, err := theEnvelope.Hash()
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		theMigration + "/plans/" + thePlan.String():      `"plan_hash":"` + thePlan.String() + `"`,
		theMigration + "/drift":                          `{"drift":[{"field":"/build","is":"\"b2\"","was":"\"b1\""}]}`,
		theMigration + "/envelopes/" + envelope.String(): `"envelope_hash":"` + envelope.String() + `"`,
		theMigration + "/deferred":                       `"next_step":"Publish it anew."`,
	} {
		if w := a.do(t, request{method: "GET", target: target, token: "migrator"}); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s", target, w.Code, w.Body, want)
		}
	}
}

func TestDeploymentsAndQualifications_AreShownToOperatorsWhoRead(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	for target, want := range map[string]string{
		"/v1/deployments": `{"processes":[{"build":"b1","kind":"worker","process_id":"06000000-0000-0000-0000-000000000000","record_formats":[1,2],` +
			`"reported_at":"2026-11-30T12:00:00Z","started_at":"2026-11-30T12:00:00Z"}],` +
			`"runtime":{"build":"b1","databases":[{"database_oid":5,"name":"data1","numbers":"0-63","system_identifier":"7"}]}}`,
		"/v1/qualifications?build=b1":                      `{"qualifications":[{"build":"b1","passed":true,"qualified_at":"2026-11-30T12:00:00Z","report_hash":"` + theQualified.Hash.String() + `"}]}`,
		"/v1/qualifications/" + theQualified.Hash.String(): `"observations":[]`,
	} {
		w := a.do(t, request{method: "GET", target: target, token: "operator"})
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s", target, w.Code, w.Body, want)
		}
		if p := problemIn(t, a.do(t, request{method: "GET", target: target, token: "approver"})); p.Status != http.StatusForbidden {
			t.Errorf("%s without the scope: %d", target, p.Status)
		}
	}
}

func TestStops_EveryCategoryHasWords(t *testing.T) {
	t.Parallel()
	for _, category := range []string{
		migration.SourceDefect, migration.ObjectCorrupt, migration.ObjectMissing, migration.BucketUnavailable, migration.LifecycleUnsafe, migration.LifecycleUnreadable,
		migration.TenantClosed, migration.DatabaseUnavailable, migration.BuildDiffers, migration.VerificationFailed, migration.Internal,
	} {
		if whyStopped(category) == whyStopped("") {
			t.Errorf("%s has no words", category)
		}
	}
}
