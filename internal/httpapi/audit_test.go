package httpapi

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func tenantPath(id domain.TenantID) string { return "/v1/tenants/" + id.String() }

// An act is begun before it is done, and ends with what was answered.
func TestAudit_AnActIsBegunAndThenEnds(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	w := a.do(t, request{method: "POST", target: "/v1/tenants", token: "migrator", body: `{"name":"acme"}`}) // may not
	if w.Code != http.StatusForbidden {
		t.Fatal(w.Code)
	}
	w = a.do(t, request{method: "POST", target: tenantPath(testTenant) + "/clients", token: "operator", headers: []string{"X-Request-Id: r-1"},
		body: `{"name":"tv","verification_uri":"https://example.com/device"}`})
	if w.Code != http.StatusCreated {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	made := map[string]string{"tenant_id": testTenant.String(), "id": tenancy.ClientIDText(knownClient)}
	want := []audit.Entry{
		{
			Outcome: audit.Refused, Operation: "createTenant", Status: 403, Code: "insufficient_scope", Subjects: map[string]string{}, Address: "192.0.2.1",
			Actor: &audit.Actor{Principal: migrator, Name: "grace"},
		},
		{Outcome: audit.Begun, Operation: "createClient", Subjects: made, Address: "192.0.2.1", Request: "r-1"},
		{Outcome: audit.Done, Act: 2, Operation: "createClient", Subjects: made, Address: "192.0.2.1", Request: "r-1", Status: 201},
	}
	ignored := cmpopts.IgnoreFields(audit.Entry{}, "Request", "After")
	if diff := cmp.Diff(want, a.audit.entries, ignored); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
	if last := a.audit.entries[2]; last.After.IsZero() || last.Request != "r-1" {
		t.Errorf("%+v", last)
	}
}

// What can't be written isn't done.
func TestAudit_WithoutALogNothingIsDone(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.audit.err = errors.New("the log is gone")
	w := a.do(t, request{method: "POST", target: "/v1/tenants", token: "operator", body: `{"name":"acme"}`})
	if p := problemIn(t, w); p.Status != http.StatusServiceUnavailable || p.Code != "audit_unavailable" || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if a.store.got != nil {
		t.Errorf("it was done: %v", a.store.got)
	}
	// Nothing else needs the log.
	if w := a.do(t, request{method: "GET", target: "/v1/accounts"}); w.Code != http.StatusOK {
		t.Errorf("a read: %d %s", w.Code, w.Body)
	}
	if p := problemIn(t, a.do(t, request{method: "POST", target: "/v1/tenants", anonymous: true, body: `{"name":"acme"}`})); p.Code != "token_missing" {
		t.Errorf("a refusal: %s", p.Code)
	}
}

// An act whose outcome can't be written was done all the same, and the caller is told
// so. The log has its beginning, which says that nobody knows.
func TestAudit_AnOutcomeThatIsLostChangesNoAnswer(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.audit.room = 1
	w := a.do(t, request{method: "POST", target: "/v1/tenants", token: "operator", body: `{"name":"acme"}`})
	if w.Code != http.StatusCreated || len(a.audit.entries) != 1 || a.audit.entries[0].Outcome != audit.Begun {
		t.Errorf("%d %s, the log: %+v", w.Code, w.Body, a.audit.entries)
	}
	if !strings.Contains(a.log.String(), "the outcome of an administrative act is not in the audit log") {
		t.Errorf("nobody is told: %s", a.log)
	}
}

// A handler that breaks leaves an act that failed.
func TestAudit_APanicIsAFailure(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.do(t, request{method: "POST", target: tenantPath(testTenant) + "/resume", token: "operator"}) // the fake has no such method
	if e := a.audit.entries; len(e) != 2 || e[1].Outcome != audit.Failed || e[1].Act != 1 || e[1].Status != 500 || e[1].Code != "internal" {
		t.Errorf("%+v", e)
	}
}

// What is refused, at whichever step, is one entry that says who, as far as that is
// known, and why. What isn't administrative has none.
func TestAudit_RefusalsAreToldAndReadsAreNot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		request
		outcome audit.Outcome
		code    string
		tenant  domain.TenantID
		entries int
	}{
		"no token":         {request{method: "POST", target: tenantPath(testTenant) + "/suspend", anonymous: true}, audit.Refused, "token_missing", domain.TenantID{}, 1},
		"a bad token":      {request{method: "POST", target: tenantPath(testTenant) + "/suspend", token: "x"}, audit.Refused, "token_invalid", domain.TenantID{}, 1},
		"a bad body":       {request{method: "POST", target: "/v1/tenants", token: "migrator", body: "{"}, audit.Refused, "insufficient_scope", domain.TenantID{}, 1},
		"a read":           {request{method: "GET", target: "/v1/tenants", token: "operator"}, "", "", domain.TenantID{}, 0},
		"a refused read":   {request{method: "GET", target: "/v1/tenants", token: "tenant"}, "", "", domain.TenantID{}, 0},
		"a tenant's write": {request{method: "POST", target: "/v1/accounts", body: `{"handle":"a"}`}, "", "", domain.TenantID{}, 0},
		"no such route":    {request{method: "POST", target: tenantPath(testTenant) + "/nothing", token: "operator"}, "", "", domain.TenantID{}, 0},
		"an unknown query": {request{method: "DELETE", target: "/v1/worlds/w?x=1"}, audit.Refused, "request_invalid", domain.TenantID{}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newTestAPI(t, testOptions{})
			a.do(t, c.request)
			if len(a.audit.entries) != c.entries {
				t.Fatalf("%d entries: %+v", len(a.audit.entries), a.audit.entries)
			}
			if c.entries == 0 {
				return
			}
			if e := a.audit.entries[0]; e.Outcome != c.outcome || e.Code != c.code || e.Tenant != c.tenant || e.Act != 0 {
				t.Errorf("%+v", e)
			}
		})
	}
}

// The log repeats no more of a path than it must, and no secret.
func TestAudit_SubjectsAreBounded(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.do(t, request{method: "DELETE", target: "/v1/worlds/" + strings.Repeat("w", 3000)})
	if e := a.audit.entries[0]; len(e.Subjects["world_id"]) > maxSubject+len("…") {
		t.Errorf("%d bytes", len(e.Subjects["world_id"]))
	}
}

// What an act made is told by its id and its digest: without the secret that is shown
// once, so that the digest is that of what the lists show.
func TestAudit_DigestsAreOfWhatTheAPIShows(t *testing.T) {
	t.Parallel()
	key := APIKey{ID: "k", PrincipalID: "p", Label: "l"}
	created := CreatedAPIKey{ID: "k", PrincipalID: "p", Label: "l", APIKey: "hf_secret"}
	one := &act{entry: audit.Entry{Subjects: map[string]string{}}}
	one.told(CreateAPIKey201JSONResponse{Body: created})
	if one.entry.After != digestOf(key) || one.entry.Subjects["id"] != "k" {
		t.Errorf("%+v", one.entry)
	}
}

func TestConcerned_TellsATenantNothingOfOthers(t *testing.T) {
	t.Parallel()
	e := audit.Entry{
		Type: "holdfast-audit-v1", Sequence: 7, Previous: audit.Hash{1}, Outcome: audit.Done, Operation: "suspendTenant", Address: "192.0.2.9", Request: "r-1",
		Tenant: testTenant, Actor: &audit.Actor{Principal: migrator, Name: "grace", Key: domain.KeyID{1}},
	}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := concerned(audit.Chained{Sequence: 7, Text: string(text), Hash: audit.Hash{2}})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"192.0.2.9", "r-1", "key_id", "previous", audit.Hash{1}.String()} {
		if strings.Contains(string(shown), secret) {
			t.Errorf("it tells %q: %s", secret, shown)
		}
	}
	if !strings.Contains(string(shown), `"name":"grace"`) {
		t.Errorf("it doesn't tell who: %s", shown)
	}
}

// A tenant that has no more acts is refused before anything is begun, and operators
// aren't.
func TestAudit_ATenantsActsAreBounded(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.audit.full = domain.Limited("rate_limited", "Too many.").After(time.Second)
	w := a.do(t, request{method: "DELETE", target: "/v1/worlds/none", token: "tenant"})
	if p := problemIn(t, w); p.Status != http.StatusTooManyRequests || p.Code != "rate_limited" || w.Header().Get("Retry-After") != "1" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if e := a.audit.entries; a.coordinator.got != nil || len(e) != 1 || e[0].Outcome != audit.Refused || e[0].Act != 0 {
		t.Errorf("%+v", e)
	}
	if w := a.do(t, request{method: "POST", target: "/v1/tenants", token: "operator", body: `{"name":"acme"}`}); w.Code != http.StatusCreated {
		t.Errorf("an operator: %d %s", w.Code, w.Body)
	}
}

// An export reads many bodies: who reads them is told once an hour, of each operator
// and tenant, and each refusal.
func TestAudit_ExportedBodiesAreToldOnceAnHour(t *testing.T) {
	t.Parallel()
	var told hourlyActs
	one, now := hourlyAct{operation: "getExportedBody", principal: migrator, tenant: testTenant}, time.Date(2026, 11, 30, 12, 59, 0, 0, time.UTC)
	other := one
	other.tenant = domain.TenantID{1}
	told.add(one, now)
	for _, c := range []struct {
		act  hourlyAct
		at   time.Time
		want bool
	}{{one, now, true}, {other, now, false}, {one, now.Add(time.Minute), false}, {one, now, true}} {
		if got := told.has(c.act, c.at); got != c.want {
			t.Errorf("%+v at %s: %t", c.act, c.at, got)
		}
	}

	// What isn't read isn't told as if it were.
	a := newTestAPI(t, testOptions{})
	target := tenantPath(testTenant) + "/export/body?collection=c&key=k&section=s&digest=" + strings.Repeat("0", 64)
	a.do(t, request{method: "GET", target: target, token: "tenant"})
	if e := a.audit.entries; len(e) != 1 || e[0].Outcome != audit.Refused || e[0].Operation != "getExportedBody" {
		t.Errorf("%+v", e)
	}
}
