package httpapi

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

var (
	tenantMigrations = "/v1/tenants/" + testTenant.String() + "/migrations"
	theMigration     = tenantMigrations + "/" + stoppedMigration.ID.String()
	namedPlan        = `{"plan_hash":"` + thePlan.String() + `"}`
)

// acts is a table of what operators do, with what the domain is asked for.
func acts() map[string]struct {
	request request
	status  int
	act     string
	about   any
	answers string // a part of the answer
} {
	post := func(path, body string) request {
		return request{method: "POST", target: theMigration + path, body: body, token: "migrator"}
	}
	approve := post("/approve", `{"hash":"`+thePlan.String()+`"}`)
	approve.token = "approver"
	digest := record.Digest{0xee}
	seen := migration.VerificationReport{
		StartedAt: verifiedAt.UTC(), EndedAt: verifiedAt.UTC(), Requests: 3, Bodies: 1, Bytes: 5, Limits: []string{"phase"},
		Pages: []migration.PageRead{{Collection: "orders", Section: "items", Outcome: "read", More: true, Sections: []migration.PageSection{
			{Key: "a", Revision: 1, SectionRead: migration.SectionRead{Sequence: 2, Live: true, Digest: &digest, Length: 5}},
		}}},
		Points: []migration.PointRead{},
	}
	caps := migration.Caps{Inspected: 1, Records: 2, Bytes: 65536, InFlight: 4}
	const capsBody = `"caps":{"inspected_rows":1,"records":2,"bytes":65536,"bodies_in_flight":4}`
	return map[string]struct {
		request request
		status  int
		act     string
		about   any
		answers string
	}{
		"preview": {
			post("/preview", `{"qualification":"`+thePlan.String()+`",`+capsBody+`,"prices":{"class_a_per_million":4.5,"class_b_per_million":0,"storage_per_gb_month":0.015},"free_bytes":9}`),
			200, "preview", migration.Preview{Qualification: thePlan, Caps: &caps, Prices: &migration.Prices{ClassA: 4.5, Storage: 0.015}, FreeBytes: 9}, `"text":"{\"build\":\"b1\"}"`,
		},
		"preview with what is usual": {post("/preview", `{"qualification":"`+thePlan.String()+`"}`), 200, "preview", migration.Preview{Qualification: thePlan}, `"lifecycle":[]`},
		"approve":                    {approve, 200, "approve", thePlan, `"state":"stopped"`},
		"activate":                   {post("/activate", namedPlan), 200, "activate", thePlan, `"point_of_no_return":"This was it."`},
		"run":                        {post("/run", namedPlan), 202, "run", thePlan, `"run_id":"` + openMigrationRun.ID.String()},
		"pause":                      {post("/pause", namedPlan), 200, "pause", thePlan, `"revision":7`},
		"resume":                     {post("/resume", namedPlan), 200, "resume", thePlan, `"revision":7`},
		"abort":                      {post("/abort", namedPlan), 200, "abort", thePlan, `"state":"requested"`},
		"abort without a plan":       {post("/abort", "{}"), 200, "abort", migration.Hash{}, `"state":"requested"`},
		"caps":                       {post("/caps", `{`+capsBody+`,`+namedPlan[1:]), 200, "caps", []any{thePlan, caps}, `"bytes":8388608`},
		"close":                      {post("/close", `{"decision":"All is well.",`+namedPlan[1:]), 200, "close", []any{thePlan, "All is well."}, `"revision":7`},
		"requalify-preview": {
			post("/requalify-preview", `{"qualification":"`+theQualified.Hash.String()+`",`+namedPlan[1:]),
			200, "requalify preview", []any{thePlan, theQualified.Hash}, `"collections":["orders"]`,
		},
		"requalify": {post("/requalify", `{"envelope_hash":"`+thePlan.String()+`"}`), 200, "requalify", thePlan, `"revision":7`},
		"verify":    {post("/verify", `{"phase":"recheck",`+namedPlan[1:]), 201, "verify", []any{thePlan, migration.RecheckReport}, `"phase_seconds":600`},
		"a verification's end": {
			request{method: "PUT", target: theMigration + "/verifications/" + recheckReport.ID.String(), token: "migrator", body: `{"started_at":"2026-11-30T12:00:00Z","ended_at":"2026-11-30T12:00:00Z",` +
				`"requests":3,"bodies":1,"bytes":5,"limits":["phase"],"points":[],"pages":[{"collection":"orders","section":"items","outcome":"read","more":true,` +
				`"sections":[{"key":"a","revision":1,"export_sequence":2,"live":true,"digest":"` + digest.String() + `","length":5}]}]}`},
			200, "end verification", []any{recheckReport.ID, seen}, `"outcome":"incomplete"`,
		},
		"scrub": {
			post("/scrub", `{"budget":{"bodies":1,"bytes":2,"duration_seconds":60},`+namedPlan[1:]),
			202, "scrub", []any{thePlan, migration.ScrubBudget{Bodies: 1, Bytes: 2, Duration: time.Minute}}, `"budget":{"duration_seconds":3600}`,
		},
		"scrub without a budget": {post("/scrub", namedPlan), 202, "scrub", []any{thePlan, migration.ScrubBudget{}}, `"first_wrong":[]`},
		"retry":                  {post("/deferred/ZA/retry", ""), 200, "retry", migration.DeferredID("ZA"), `"deferred_id":"ZA"`},
		"a request": {
			request{method: "POST", target: tenantMigrations, token: "migrator", headers: []string{"Idempotency-Key: k"}, body: `{"kind":"rehydrate","collections":["Orders"]}`},
			201, "ask", migration.Request{Kind: migration.Rehydrate, Collections: []string{"Orders"}, Key: "k"}, `"kind":"rehydrate"`,
		},
	}
}

func TestMigrations_ActsAskTheDomainForWhatTheyName(t *testing.T) {
	t.Parallel()
	for name, c := range acts() {
		a := newTestAPI(t, testOptions{})
		a.store.known = tenancy.Tenant{ID: testTenant}
		w := a.do(t, c.request)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.answers) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
			continue
		}
		want := asked{c.act, "grace", testTenant, stoppedMigration.ID, c.about}
		if c.request.token == "approver" {
			want.By = "ada"
		}
		if c.act == "ask" {
			want.Migration = domain.MigrationID{}
		}
		if diff := cmp.Diff(want, a.migrations.got); diff != "" {
			t.Errorf("%s asks for (-want +got):\n%s", name, diff)
		}
	}
}

func TestMigrations_ARefusalOfTheDomainIsTheAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range acts() {
		a := newTestAPI(t, testOptions{})
		a.store.known = tenancy.Tenant{ID: testTenant}
		a.migrations.err = domain.Conflict("migration_state", "Not now.").With("state", "closed")
		w := a.do(t, c.request)
		if p := problemIn(t, w); p.Status != http.StatusConflict || p.Code != "migration_state" || p.State == nil || *p.State != "closed" || a.jobs.kind != "" {
			t.Errorf("%s: %d %s, and asked for %q", name, w.Code, w.Body, a.jobs.kind)
		}
	}
}

// Approving is another person's: neither scope stands for the other.
func TestMigrations_WhoMigratesCantApproveNorTheOtherWayRound(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.store.known = tenancy.Tenant{ID: testTenant}
	for name, c := range acts() {
		for _, token := range []string{"migrator", "approver", "operator", "tenant"} {
			if token == c.request.token {
				continue
			}
			q := c.request
			q.token = token
			if p := problemIn(t, a.do(t, q)); p.Status != http.StatusForbidden || p.Code != "insufficient_scope" {
				t.Errorf("%s as %s: %d %s", name, token, p.Status, p.Code)
			}
		}
	}
	if a.migrations.got.Act != "" {
		t.Errorf("the domain was asked for %+v", a.migrations.got)
	}
}

func TestMigrations_WhatNamesNoPlanIsRefusedBeforeTheDomain(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	upper := strings.ToUpper(thePlan.String())
	for path, bodies := range map[string][]string{
		"/activate": {`{}`, `{"plan_hash":""}`, `{"plan_hash":"` + upper + `"}`, `{"plan_hash":null}`, `{"plan_hash":"` + thePlan.String() + `","force":true}`},
		"/approve":  {`{}`, `{"plan_hash":"` + thePlan.String() + `"}`},
		"/verify":   {namedPlan, `{"phase":"scrub",` + namedPlan[1:]},
		"/close":    {namedPlan, `{"decision":"",` + namedPlan[1:]},
		"/caps":     {namedPlan, `{"caps":{"inspected_rows":65,"records":1,"bytes":65536,"bodies_in_flight":1},` + namedPlan[1:], `{"caps":{"records":1},` + namedPlan[1:]},
		"/preview":  {`{}`, `{"qualification":"` + thePlan.String() + `","prices":{"class_a_per_million":-1,"class_b_per_million":0,"storage_per_gb_month":0}}`},
		"/scrub":    {`{"budget":{"bodies":0},` + namedPlan[1:], `{"budget":{"duration_seconds":2592001},` + namedPlan[1:]},
	} {
		for _, body := range bodies {
			q := request{method: "POST", target: theMigration + path, body: body, token: "migrator"}
			if path == "/approve" {
				q.token = "approver"
			}
			if p := problemIn(t, a.do(t, q)); p.Status != http.StatusUnprocessableEntity || a.migrations.got.Act != "" {
				t.Errorf("%s %s: %d %s, and the domain was asked for %q", path, body, p.Status, p.Code, a.migrations.got.Act)
			}
		}
	}
}

// A run or a scrub that has begun is asked of a worker at once; where nobody can be
// asked, it goes on all the same, a little later.
func TestMigrations_RunsAndScrubsAreAskedOfAWorker(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]migration.OpenWork{
		"run":   {Tenant: testTenant, Migration: stoppedMigration.ID, ID: openMigrationRun.ID, Build: "b1"},
		"scrub": {Tenant: testTenant, Migration: stoppedMigration.ID, ID: domain.RunID(scrubReport.ID), Scrub: true, Build: "b1"},
	} {
		for _, err := range []error{nil, domain.Unavailable("jobs_unavailable", "Ask again.")} {
			a := newTestAPI(t, testOptions{})
			a.jobs.err = err
			w := a.do(t, request{method: "POST", target: theMigration + "/" + path, body: namedPlan, token: "migrator"})
			if w.Code != http.StatusAccepted || a.jobs.kind != path || a.jobs.work != want || strings.Contains(a.log.String(), "nobody was asked") != (err != nil) {
				t.Errorf("%s: %d %s, asked for %s %+v", path, w.Code, w.Body, a.jobs.kind, a.jobs.work)
			}
		}
	}
}

func TestMigrations_ADriftedPlanTellsWhatIsOtherwise(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.migrations.err = domain.Conflict("plan_drifted", "It has drifted.").With("drift", []migration.Drift{{Field: "/build", Was: `"b1"`, Is: `"b2"`}})
	w := a.do(t, request{method: "POST", target: theMigration + "/activate", body: namedPlan, token: "migrator"})
	p := problemIn(t, w)
	if diff := cmp.Diff(&[]PlanDrift{{Field: "/build", Was: `"b1"`, Is: `"b2"`}}, p.Drift); diff != "" || p.Code != "plan_drifted" {
		t.Errorf("%s (-want +got):\n%s", p.Code, diff)
	}
}
