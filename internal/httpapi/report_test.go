package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

var identityPath = "/v1/tenants/" + testTenant.String() + "/identity"

func TestReport_IsEncodedWhole(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.store.known = tenancy.Tenant{ID: testTenant}
	a.directory.report = identity.Report{
		Census: identity.Census{
			Records: []identity.RecordCount{{Family: domain.FamilyAccount, Status: "active", Count: 3}},
			Keys:    []identity.KeyCount{{Family: domain.FamilyHandle, Count: 4}},
			Codes:   identity.CodeCount{Live: 5, Past: 6}, Pending: 7, Residue: 8, Events: 9, Violations: 10,
		},
		Found: []identity.Violation{
			{Kind: identity.KeyUnclaimed, Database: "data1", Family: domain.FamilyHandle, Number: 7, Record: domain.RecordID(knownAccount), Detail: "Sweep."},
			{Kind: identity.StreamBroken, Database: "data2", Family: domain.FamilyAccount, Number: 63, Detail: "Look."},
		},
		Hash: "ab", Obstacles: []identity.Obstacle{identity.ObstacleViolations},
	}
	w := a.do(t, request{method: "GET", target: identityPath + "/report", token: "operator"})
	want := `{"events":9,"found":[{"bucket":"identity-v1/handle/07","database":"data1","detail":"Sweep.","kind":"key_unclaimed","record_id":"01930000-0000-0000-0000-000000000001"},` +
		`{"bucket":"identity-v1/account/63","database":"data2","detail":"Look.","kind":"stream_broken","record_id":null}],` +
		`"keys":[{"count":4,"family":"handle"}],"obstacles":["violations"],"openable":false,"pending_operations":7,` +
		`"records":[{"count":3,"family":"account","status":"active"}],"report_hash":"ab","residual_claims":8,"user_codes":{"live":5,"past":6},"violations":10}`
	if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != want {
		t.Errorf("%d %s\nwant %s", w.Code, got, want)
	}
	if a.directory.got != testTenant {
		t.Errorf("asked for %v", a.directory.got)
	}
}

func TestReport_OfATenantThatIsNotThereIsNotMade(t *testing.T) {
	t.Parallel()
	for _, q := range []request{{method: "GET", target: identityPath + "/report"}, {method: "POST", target: identityPath + "/open", body: `{"report_hash":"ab"}`}} {
		a := newTestAPI(t, testOptions{})
		q.token = "operator"
		if p := problemIn(t, a.do(t, q)); p.Code != "tenant_not_found" || a.directory.got != nil || a.store.opened {
			t.Errorf("%s: %d %s, and the directory was asked for %v", q.target, p.Status, p.Code, a.directory.got)
		}
	}
}

func TestOpenIdentity_NeedsTheReportThatIsTrueNowAndNoObstacle(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state  string
		report identity.Report
		code   string
	}{
		"as reported":         {tenancy.IdentityImporting, identity.Report{Hash: "ab", Openable: true}, ""},
		"changed":             {tenancy.IdentityImporting, identity.Report{Hash: "cd", Openable: true}, "report_changed"},
		"changed and broken":  {tenancy.IdentityImporting, identity.Report{Hash: "cd"}, "report_changed"},
		"broken":              {tenancy.IdentityImporting, identity.Report{Hash: "ab"}, "namespace_not_openable"},
		"open already":        {tenancy.IdentityOpen, identity.Report{Hash: "cd"}, ""},
		"no report that ever": {tenancy.IdentityImporting, identity.Report{}, "report_changed"},
	} {
		a := newTestAPI(t, testOptions{})
		a.store.known = tenancy.Tenant{ID: testTenant, IdentityState: c.state}
		a.directory.report = c.report
		w := a.do(t, request{method: "POST", target: identityPath + "/open", body: `{"report_hash":"ab"}`, token: "operator"})
		if c.code != "" {
			if p := problemIn(t, w); p.Status != http.StatusConflict || p.Code != c.code || a.store.opened {
				t.Errorf("%s: %d %s, opened %v", name, p.Status, p.Code, a.store.opened)
			}
			continue
		}
		if w.Code != http.StatusOK || w.Header().Get("ETag") != `"2"` || !strings.Contains(w.Body.String(), `"identity_state":"open"`) || !a.store.opened {
			t.Errorf("%s: %d %v %s", name, w.Code, w.Header(), w.Body)
		}
		if (c.state == tenancy.IdentityOpen) != (a.directory.got == nil) {
			t.Errorf("%s: the directory was asked for %v", name, a.directory.got)
		}
	}
}
