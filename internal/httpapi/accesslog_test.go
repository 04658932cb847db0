package httpapi

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func (a *testAPI) lines(t *testing.T) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for text := range strings.Lines(a.log.String()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		if took, ok := line["took"].(float64); !ok || took <= 0 {
			t.Errorf("took is %v", line["took"])
		}
		delete(line, "time")
		delete(line, "took")
		delete(line, "bytes")
		lines = append(lines, line)
	}
	return lines
}

func TestAccessLog_NamesTheRouteTheOutcomeAndWhose(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.do(t, request{method: "GET", target: accountPath, headers: []string{"X-Request-Id: r1"}})
	a.do(t, request{method: "GET", target: "/v1/accounts?email=ada@example.com", headers: []string{"X-Request-Id: r2"}})
	a.do(t, request{method: "GET", target: "/ada@example.com", headers: []string{"X-Request-Id: r3"}, anonymous: true})
	a.do(t, request{method: "GET", target: "/livez", headers: []string{"X-Request-Id: r4"}})
	a.form(t, "revoke", "token=rt&"+theClientID, "X-Request-Id: r5")
	a.form(t, "revoke", "token=rt&client_id=hfc_1", "X-Request-Id: r6")

	const nobody = "00000000-0000-0000-0000-000000000000"
	want := []map[string]any{
		{"level": "INFO", "msg": "request", "method": "GET", "route": "/v1/accounts/{account_id}", "status": 200.0,
			"request_id": "r1", "tenant_id": testTenant.String(), "principal_id": nobody},
		{"level": "INFO", "msg": "request", "method": "GET", "route": "/v1/accounts", "status": 422.0, "code": "request_invalid",
			"request_id": "r2", "tenant_id": testTenant.String(), "principal_id": nobody},
		{"level": "INFO", "msg": "request", "method": "GET", "route": "", "status": 404.0, "code": "route_not_found", "request_id": "r3"},
		{"level": "DEBUG", "msg": "request", "method": "GET", "route": "/livez", "status": 200.0, "request_id": "r4"},
		{"level": "INFO", "msg": "request", "method": "POST", "route": "/v1/oauth/revoke", "status": 200.0,
			"request_id": "r5", "tenant_id": testTenant.String(), "client_id": tenancy.ClientIDText(knownClient)},
		{"level": "INFO", "msg": "request", "method": "POST", "route": "/v1/oauth/revoke", "status": 401.0, "code": "invalid_client", "request_id": "r6"},
	}
	if diff := cmp.Diff(want, a.lines(t)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
