package httpapi

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/holdfast-dev/holdfast/web"
)

// without gives the document with one edit.
func edited(t *testing.T, old, new string) []byte {
	t.Helper()
	if bytes.Count(web.OpenAPI, []byte(old)) == 0 {
		t.Fatalf("the document doesn't have %q", old)
	}
	return bytes.Replace(web.OpenAPI, []byte(old), []byte(new), 1)
}

func TestNew_RefusesADocumentThatLeavesADoorOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, new, says string }{
		"an operation that names no scope":  {"      security:\n        - oauth: [\"identity:read\"]\n", "", "doesn't say which scope"},
		"a scope that isn't declared":       {`oauth: ["identity:read"]`, `oauth: ["identity:reed"]`, "not declared"},
		"no scope in a requirement":         {`oauth: ["identity:read"]`, `oauth: []`, "must name one scope"},
		"two scopes":                        {`oauth: ["identity:read"]`, `oauth: ["identity:read", "identity:write"]`, "must name one scope"},
		"a way around":                      {"- oauth: [\"identity:read\"]\n", "- oauth: [\"identity:read\"]\n        - {}\n", "must name one scope"},
		"a body that takes unknown members": {"additionalProperties: false", "additionalProperties: true", "must say additionalProperties: false"},
		"a body that doesn't say":           {"additionalProperties: false", "description: x", "must say additionalProperties: false"},
		"a map's values that take them":     {"    SectionBody:\n      type: object\n      additionalProperties: false", "    SectionBody:\n      type: object", "must say additionalProperties: false"},
		"a part that takes them":            {"A publication without its sections.\n      additionalProperties: false", "x", "must say additionalProperties: false"},
		"two parts that are named":          {"schemas/PublicationPart\"\n", "schemas/PublicationPart\"\n        another:\n          type: string\n", "one part must be named"},
		"a misspelled promise":              {"x-holdfast-repeatable: true", "x-holdfast-repeat: true", "not known here"},
		"a promise in words":                {"x-holdfast-repeatable: true", "x-holdfast-repeatable: sometimes", "neither true nor false"},
		"an operation that isn't served":    {"  /livez:\n", "  /livezz:\n", "not described"},
		"a parameter in a place of its own": {"name: cursor\n      in: query", "name: cursor\n      in: cookie", "only path, query and header"},
		"a misspelled timeout":              {"x-holdfast-timeout-seconds: 300", "x-holdfast-timeout: 300", "not known here"},
		"a timeout of nothing":              {"x-holdfast-timeout-seconds: 300", "x-holdfast-timeout-seconds: 0", "whole number above zero"},
		"a timeout in words":                {"x-holdfast-timeout-seconds: 300", "x-holdfast-timeout-seconds: 5m", "whole number above zero"},
		"a misspelled length":               {"x-holdfast-max-bytes: 16777216", "x-holdfast-maxbytes: 16777216", "not known here"},
		"a broken length":                   {"x-holdfast-max-bytes: 16777216", "x-holdfast-max-bytes: 1.5", "whole number above zero"},
		"lines without a limit":             {"            x-holdfast-max-lines: 10000\n            x-holdfast-max-line-bytes: 65536\n", "", "must be limited"},
		"lines without a length":            {"            x-holdfast-max-line-bytes: 65536\n", "", "come together"},
		"a whole body in lines":             {"application/x-ndjson:\n            x-holdfast", "application/json:\n            x-holdfast", "must be limited"},
		"a document that isn't valid":       {"operationId: livez", "operationId: readyz", "description"},
		"a reference that leads nowhere":    {"#/components/schemas/NewAccount", "#/components/schemas/Nobody", "description"},
	} {
		_, err := New(Options{
			Document: edited(t, c.old, c.new), Issuer: "https://holdfast.example", CursorSecrets: [][]byte{{1}},
			Log: slog.New(slog.DiscardHandler), Tracers: tracenoop.NewTracerProvider(), Meters: metricnoop.NewMeterProvider(),
		})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNew_NeedsASecretForCursorsAndAnIssuer(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"no secret": {Issuer: "https://holdfast.example"},
		"no issuer": {CursorSecrets: [][]byte{{1}}},
	} {
		o.Document, o.Log, o.Tracers, o.Meters = web.OpenAPI, slog.New(slog.DiscardHandler), tracenoop.NewTracerProvider(), metricnoop.NewMeterProvider()
		if _, err := New(o); err == nil {
			t.Errorf("it starts with %s", name)
		}
	}
}

// The public operations are a list that a reviewer should see change.
func TestOperations_PublicOnes(t *testing.T) {
	t.Parallel()
	_, operations, err := loadOperations(web.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, op := range operations {
		if op.scope == "" {
			got[op.id] = true
		}
	}
	want := map[string]bool{
		"createToken": true, "authorizeDevice": true, "revokeToken": true, "getAuthorizationServer": true, "getJwks": true, "getCheckpointKeys": true,
		"livez": true, "readyz": true, "getOpenapi": true, "getDocs": true, "getDocsFile": true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("public operations (-want +got):\n%s", diff)
	}
}

// So are those that clients are invited to repeat when nobody knows their outcome.
func TestOperations_RepeatableOnes(t *testing.T) {
	t.Parallel()
	_, operations, err := loadOperations(web.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, op := range operations {
		if op.repeatable {
			got[op.id] = true
		}
	}
	want := map[string]bool{
		"batchGetAccounts": true, "lookupAccount": true, "presignBody": true, "checkAppend": true, "importAccounts": true,
		"suspendTenant": true, "resumeTenant": true, "acquireLease": true, "activateLease": true, "renewLease": true, "renewLeases": true,
		"putCollection": true, "putRecord": true, "publishRecords": true, "claimBatch": true, "heartbeatBatch": true, "completeBatch": true,
		"activateMigration": true, "pauseMigration": true, "resumeMigration": true, "abortMigration": true, "lowerMigrationCaps": true, "requalifyMigration": true, "endVerification": true, "closeMigration": true, "retryDeferred": true,
		"approveTenantDeletion": true, "cancelTenantDeletion": true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("repeatable operations (-want +got):\n%s", diff)
	}
}

func TestOpenAPI_IsServedAsJSONAndIsTheDocument(t *testing.T) {
	t.Parallel()
	w := newTestAPI(t, testOptions{}).do(t, request{method: "GET", target: "/openapi.json", anonymous: true})
	served, err := openapi3.NewLoader().LoadFromData(w.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	source, err := openapi3.NewLoader().LoadFromData(web.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	asJSON := func(doc *openapi3.T) (v any) {
		text, err := doc.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	if diff := cmp.Diff(asJSON(source), asJSON(served)); diff != "" {
		t.Errorf("documents (-source +served):\n%s", diff)
	}
}

func TestScheme_ForwardingHeadersOfStrangersAreNotBelieved(t *testing.T) {
	t.Parallel()
	e := newEcho(nil)
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "10.0.0.1:1"
	r.Header.Set("X-Forwarded-For", "1.2.3.4")
	r.Header.Set("X-Real-IP", "1.2.3.4")
	r.Header.Set("X-Forwarded-Proto", "https")
	c := e.NewContext(r, nil)
	if c.RealIP() != "10.0.0.1" || c.Scheme() != "http" {
		t.Errorf("believed: %s %s", c.RealIP(), c.Scheme())
	}
}
