package httpapi

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/web"
)

// testAPI is the real handler over fakes that misbehave on command. What the
// whole stack does is tested in cmd/api.
type testAPI struct {
	http.Handler
	api         *API
	directory   *fakeDirectory
	coordinator *fakeCoordinator
	records     *fakeRecords
	migrations  *fakeMigrations
	memory      *fakeMemory
	store       *fakeStore
	tokens      *fakeTokens
	jobs        *fakeJobs
	audit       *fakeAudit
	limits      *fakeLimits
	log         *bytes.Buffer
}

type testOptions struct {
	checks  []ReadinessCheck
	timeout time.Duration
	pause   time.Duration
	tracers trace.TracerProvider
	meters  metric.MeterProvider
	guard   StorageGuard
	memory  Memory // the fake one if nil
	discard bool   // no log, for benchmarks
}

func newTestAPI(t testing.TB, o testOptions) *testAPI {
	t.Helper()
	a := &testAPI{directory: &fakeDirectory{}, coordinator: &fakeCoordinator{}, records: &fakeRecords{record: theRecord()}, migrations: &fakeMigrations{}, memory: &fakeMemory{}, store: &fakeStore{}, tokens: &fakeTokens{}, jobs: &fakeJobs{}, audit: &fakeAudit{}, limits: &fakeLimits{}, log: &bytes.Buffer{}}
	if o.tracers == nil {
		o.tracers = tracenoop.NewTracerProvider()
	}
	if o.meters == nil {
		o.meters = metricnoop.NewMeterProvider()
	}
	var out io.Writer = a.log
	if o.discard {
		out = io.Discard
	}
	var memory Memory = a.memory
	if o.memory != nil {
		memory = o.memory
	}
	api, err := New(Options{
		Document:       web.OpenAPI,
		Directory:      a.directory,
		Coordinator:    a.coordinator,
		CheckpointKeys: fakeCheckpointKeys{},
		Records:        a.records,
		Migrations:     a.migrations,
		Memory:         memory,
		Administration: a.store,
		StorageGuard:   o.guard,
		Tokens:         a.tokens,
		Issuer:         "https://holdfast.example",
		Jobs:           a.jobs,
		Limiter:        a.limits,
		TenantLimits:   a.limits,
		Audit:          a.audit,
		AuditRefusals:  a.audit,
		Databases:      []string{"data1", "data2", "data3"},
		Checks:         o.checks,
		CursorSecrets:  [][]byte{[]byte("test secret")},
		RequestTimeout: o.timeout,
		StreamPause:    o.pause,
		Log:            telemetry.NewLogger(out, slog.LevelDebug),
		Tracers:        o.tracers,
		Meters:         o.meters,
	})
	if err != nil {
		t.Fatal(err)
	}
	a.api, a.Handler = api, api
	return a
}

// call is a request in short: the method, the target, and header lines
// ("If-Match: \"1\"") and a body.
type request struct {
	method, target string
	headers        []string
	body           string
	anonymous      bool   // no token
	token          string // "tenant" by default
}

func (a *testAPI) do(t testing.TB, q request) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(q.method, q.target, strings.NewReader(q.body))
	if q.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if !q.anonymous {
		token := "tenant"
		if q.token != "" {
			token = q.token
		}
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for _, line := range q.headers {
		name, value, _ := strings.Cut(line, ": ")
		if value == "-" {
			r.Header.Del(name)
			continue
		}
		switch name {
		case "Content-Type":
			r.Header.Set(name, value)
			continue
		case "Transfer-Encoding":
			r.ContentLength = -1
			continue
		}
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

// problemIn reads a problem and demands its form.
func problemIn(t testing.TB, w *httptest.ResponseRecorder) Problem {
	t.Helper()
	if got := w.Header().Get("Content-Type"); got != mediaProblem {
		t.Fatalf("Content-Type is %q, want %s; body %s", got, mediaProblem, w.Body)
	}
	var p Problem
	decoder := json.NewDecoder(bytes.NewReader(w.Body.Bytes()))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		t.Fatalf("not a problem: %v: %s", err, w.Body)
	}
	if p.Status != w.Code || p.Type != "urn:holdfast:problem:"+p.Code || p.Title == "" || p.Detail == "" {
		t.Fatalf("incomplete problem: %s", w.Body)
	}
	if p.RequestID == "" || p.RequestID != w.Header().Get("X-Request-Id") {
		t.Fatalf("request_id %q is not X-Request-Id %q", p.RequestID, w.Header().Get("X-Request-Id"))
	}
	return p
}

func fieldsIn(p Problem) []FieldError {
	if p.Errors == nil {
		return nil
	}
	return *p.Errors
}
