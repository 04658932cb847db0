package httpapi

import (
	"bytes"
	"context"
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

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/web"
)

// testAPI is the real handler over fakes that misbehave on command. What the
// whole stack does is tested in cmd/api.
type testAPI struct {
	http.Handler
	api       *API
	directory *fakeDirectory
	store     *fakeStore
	tokens    *fakeTokens
	jobs      *fakeJobs
	log       *bytes.Buffer
}

type testOptions struct {
	checks  []ReadinessCheck
	timeout time.Duration
	tracers trace.TracerProvider
	meters  metric.MeterProvider
	discard bool // no log, for benchmarks
}

func newTestAPI(t testing.TB, o testOptions) *testAPI {
	t.Helper()
	a := &testAPI{directory: &fakeDirectory{}, store: &fakeStore{}, tokens: &fakeTokens{}, jobs: &fakeJobs{}, log: &bytes.Buffer{}}
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
	api, err := New(Options{
		Document:       web.OpenAPI,
		Directory:      a.directory,
		Administration: a.store,
		Tokens:         a.tokens,
		Jobs:           a.jobs,
		Databases:      []string{"data1", "data2", "data3"},
		Checks:         o.checks,
		CursorSecrets:  [][]byte{[]byte("test secret")},
		RequestTimeout: o.timeout,
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
		if name == "Content-Type" {
			r.Header.Set(name, value)
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

// fakeDirectory answers with one account, or with err, or does what act says.
type fakeDirectory struct {
	err  error
	act  func(context.Context) error
	got  any // what the last call was asked
	next *identity.Position
}

var (
	knownAccount = domain.AccountID{0x01, 0x93, 15: 1}
	knownChange  = domain.EmailChangeID{15: 2}
	verifiedAt   = time.Date(2026, 11, 30, 13, 0, 0, 0, time.FixedZone("", 3600))
)

func theAccount() identity.Account {
	return identity.Account{
		ID: knownAccount, Revision: 7, Status: identity.Active,
		Handle: identity.RestoreHandle("Ada", "ada", ""), Email: identity.RestoreEmail("Ada@example.com", "ada@example.com"),
		EmailVerifiedAt: &verifiedAt, Attributes: json.RawMessage(`{"n": 12345678901234567890.5}`),
		CreatedAt: verifiedAt, UpdatedAt: verifiedAt,
	}
}

func (f *fakeDirectory) called(ctx context.Context, got any) error {
	f.got = got
	if f.act != nil {
		return f.act(ctx)
	}
	return f.err
}

func (f *fakeDirectory) Create(ctx context.Context, _ tenancy.Scope, want identity.CreateAccount) (identity.Created, error) {
	err := f.called(ctx, want)
	created := identity.Created{Account: theAccount(), Replayed: want.IdempotencyKey == "replayed"}
	if want.Email != nil && !want.EmailVerified {
		created.Account.Email, created.Account.EmailVerifiedAt = identity.Email{}, nil
		created.EmailChange = &identity.EmailChange{ID: knownChange, Email: identity.RestoreEmail(*want.Email, *want.Email), Code: "12345678", ExpiresAt: verifiedAt}
	}
	return created, err
}

func (f *fakeDirectory) Get(ctx context.Context, _ tenancy.Scope, id domain.AccountID) (identity.Account, error) {
	return theAccount(), f.called(ctx, id)
}

func (f *fakeDirectory) SweepProgress(ctx context.Context) ([]identity.SweepProgress, error) {
	return nil, f.called(ctx, nil)
}

type patched struct {
	ID       domain.AccountID
	Revision int64
	Patch    identity.AccountPatch
}

func (f *fakeDirectory) Patch(ctx context.Context, _ tenancy.Scope, id domain.AccountID, revision int64, patch identity.AccountPatch) (identity.Account, error) {
	return theAccount(), f.called(ctx, patched{id, revision, patch})
}

func (f *fakeDirectory) Delete(ctx context.Context, _ tenancy.Scope, id domain.AccountID, revision int64) error {
	return f.called(ctx, patched{ID: id, Revision: revision})
}

type listed struct {
	Filter identity.AccountFilter
	After  *identity.Position
	Limit  int
}

func (f *fakeDirectory) List(ctx context.Context, _ tenancy.Scope, filter identity.AccountFilter, after *identity.Position, limit int) (identity.AccountPage, error) {
	return identity.AccountPage{Next: f.next}, f.called(ctx, listed{filter, after, limit})
}

func (f *fakeDirectory) BatchGet(ctx context.Context, _ tenancy.Scope, ids []domain.AccountID) ([]identity.BatchResult, error) {
	results := make([]identity.BatchResult, len(ids))
	for i, id := range ids {
		results[i].ID = id
		if id == knownAccount {
			account := theAccount()
			results[i].Account = &account
		}
	}
	return results, f.called(ctx, ids)
}

func (f *fakeDirectory) LookupHandle(ctx context.Context, _ tenancy.Scope, handle string) (identity.Account, error) {
	return theAccount(), f.called(ctx, "handle "+handle)
}

func (f *fakeDirectory) LookupEmail(ctx context.Context, _ tenancy.Scope, email string) (identity.Account, error) {
	return theAccount(), f.called(ctx, "email "+email)
}

func (f *fakeDirectory) BeginEmailChange(ctx context.Context, _ tenancy.Scope, id domain.AccountID, want identity.BeginEmailChange) (identity.BegunEmailChange, error) {
	change := identity.EmailChange{ID: knownChange, Email: identity.RestoreEmail("New@example.com", "new@example.com"), Code: "12345678", ExpiresAt: verifiedAt}
	return identity.BegunEmailChange{EmailChange: change, Replayed: want.IdempotencyKey == "replayed"}, f.called(ctx, []any{id, want})
}

func (f *fakeDirectory) ConfirmEmailChange(ctx context.Context, _ tenancy.Scope, id domain.AccountID, change domain.EmailChangeID, code string) (identity.Account, error) {
	return theAccount(), f.called(ctx, []any{id, change, code})
}

func (f *fakeDirectory) CancelEmailChange(ctx context.Context, _ tenancy.Scope, id domain.AccountID, change domain.EmailChangeID) error {
	return f.called(ctx, []any{id, change})
}

func (f *fakeDirectory) RemoveEmail(ctx context.Context, _ tenancy.Scope, id domain.AccountID, revision *int64) (identity.Account, error) {
	return theAccount(), f.called(ctx, []any{id, revision})
}

func (f *fakeDirectory) Recovery(ctx context.Context, _ tenancy.Scope) (identity.Recovery, error) {
	return identity.Recovery{}, f.called(ctx, nil)
}

// fakeStore answers lists with nothing and everything else with zero values.
type fakeStore struct {
	Administration // what a test doesn't need panics
	got            any
}

func (f *fakeStore) CreateTenant(_ context.Context, _ tenancy.Scope, want tenancy.NewTenant) (tenancy.Tenant, bool, error) {
	f.got = want
	return tenancy.Tenant{Name: want.Name, Revision: 1}, false, nil
}

func (f *fakeStore) Tenants(_ context.Context, _ tenancy.Scope, want tenancy.List[string]) ([]tenancy.Tenant, bool, error) {
	f.got = want
	return nil, false, nil
}

func (f *fakeStore) CreateClient(_ context.Context, _ tenancy.Scope, tenant domain.TenantID, want tenancy.NewClient) (tenancy.Client, bool, error) {
	f.got = []any{tenant, want}
	return tenancy.Client{ID: knownClient, Name: want.Name, Scopes: want.Scopes, VerificationURI: want.VerificationURI, CreatedAt: verifiedAt}, true, nil
}

func (f *fakeStore) Clients(_ context.Context, _ tenancy.Scope, tenant domain.TenantID, want tenancy.List[string]) ([]tenancy.Client, bool, error) {
	f.got = []any{tenant, want}
	return []tenancy.Client{{ID: knownClient, Name: "tv", CreatedAt: verifiedAt, DisabledAt: verifiedAt}}, true, nil
}

func (f *fakeStore) DisableClient(_ context.Context, _ tenancy.Scope, tenant domain.TenantID, id domain.ClientID) (tenancy.Client, error) {
	f.got = []any{tenant, id}
	return tenancy.Client{}, nil
}

// fakeJobs adds a job for data2 and finds the others' there.
type fakeJobs struct {
	err error
	got []string
}

func (f *fakeJobs) IdentitySweep(_ context.Context, databases ...string) ([]string, error) {
	f.got = databases
	return []string{"data2"}, f.err
}

// fakeTokens knows three callers.
type fakeTokens struct{ granted tenancy.GrantRequest }

var knownClient = domain.ClientID{0xab, 15: 3}

var (
	testTenant  = domain.TenantID{0x01, 15: 9}
	otherTenant = domain.TenantID{0x02, 15: 9}
)

func (f *fakeTokens) Authenticate(_ context.Context, token string) (tenancy.Scope, error) {
	switch token {
	case "tenant":
		return tenancy.Scope{Tenant: testTenant, Scopes: []string{"identity:read", "identity:write"}}, nil
	case "reader":
		return tenancy.Scope{Tenant: testTenant, Scopes: []string{"identity:read"}}, nil
	case "other":
		return tenancy.Scope{Tenant: otherTenant, Scopes: []string{"identity:read", "identity:write"}}, nil
	case "impostor":
		return tenancy.Scope{Tenant: testTenant, Scopes: []string{"identity:read", "operator:tenants"}}, nil
	case "operator":
		return tenancy.Scope{Scopes: []string{"identity:read", "operator:read", "operator:tenants"}}, nil
	default:
		return tenancy.Scope{}, domain.Unauthenticated("token_invalid", "The token is not one of ours.")
	}
}

func (f *fakeTokens) Grant(_ context.Context, want tenancy.GrantRequest) (tenancy.AccessToken, error) {
	f.granted = want
	switch want.ClientSecret {
	case "right":
		return tenancy.AccessToken{Token: "t", Type: "Bearer", ExpiresIn: 900, Scope: "identity:read"}, nil
	case "down":
		return tenancy.AccessToken{}, domain.Unavailable("auth_unavailable", "Try again.")
	case "suspended":
		return tenancy.AccessToken{}, &tenancy.GrantError{Code: tenancy.GrantTenantSuspended, Description: "The tenant is suspended."}
	default:
		return tenancy.AccessToken{}, &tenancy.GrantError{Code: tenancy.GrantInvalidClient, Description: "Unknown client."}
	}
}

func (f *fakeTokens) JWKS() (tenancy.JWKS, error) { return tenancy.JWKS{}, nil }
