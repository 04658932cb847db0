package tenancy_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

const issuer = "https://holdfast.example"

// clock is one that tests move. All processes of a test read the same.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// installation is a test's own, with the operators ada and grace.
type installation struct {
	databases *testkit.Installation
	admin     *pgxpool.Pool // the control database's superuser
	clock     *clock
	first     process
	adaKey    string
	ada       tenancy.Scope // as the first process authenticated her
	grace     tenancy.Scope // likewise
}

// process is what one API process has.
type process struct {
	router *postgres.Router
	store  *tenancy.Store
	tokens *tenancy.Tokens
}

func install(t testing.TB, dataDatabases int) *installation {
	t.Helper()
	in := bare(t, dataDatabases)
	in.first = in.start(t)
	in.adaKey = tenancy.GenerateKey(in.clock.Now())
	graceKey := tenancy.GenerateKey(in.clock.Now())
	_, err := in.first.store.Bootstrap(t.Context(), []tenancy.BootstrapKey{
		{Name: "ada", Key: in.adaKey},
		{Name: "grace", Key: graceKey},
	})
	must(t, err)
	must(t, in.first.tokens.Poll(t.Context()))
	in.ada = in.first.authenticate(t, in.first.grant(t, in.adaKey))
	in.grace = in.first.authenticate(t, in.first.grant(t, graceKey))
	return in
}

// bare is an installation before its first process starts.
func bare(t testing.TB, dataDatabases int) *installation {
	t.Helper()
	databases := testkit.Databases(t, dataDatabases)
	return &installation{
		databases: databases,
		admin:     databases.Admin(t, "control"),
		clock:     &clock{now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)},
	}
}

// start makes another process. With no keys given it has the usual one.
func (in *installation) start(t testing.TB, keys ...tenancy.ServerKey) process {
	t.Helper()
	router := in.databases.Router(t, postgres.RoleAPI)
	return in.startOn(t, router, tenancy.NewGates(router), keys...)
}

func (in *installation) startOn(t testing.TB, router *postgres.Router, gates tenancy.TenantGates, keys ...tenancy.ServerKey) process {
	t.Helper()
	if len(keys) == 0 {
		keys = []tenancy.ServerKey{serverKey("k1")}
	}
	serverKeys, err := tenancy.NewServerKeys(keys...)
	must(t, err)
	store := tenancy.NewStore(router.Control(), gates, serverKeys, in.clock.Now)
	tokens, err := tenancy.NewTokens(store, tenancy.TokenSettings{Issuer: issuer}, slog.New(slog.DiscardHandler))
	must(t, err)
	return process{router, store, tokens}
}

// serverKey makes a key whose secret follows from its id.
func serverKey(id string) tenancy.ServerKey {
	return tenancy.ServerKey{ID: id, Secret: [32]byte([]byte(strings.Repeat(id, 32)))}
}

func (p process) grant(t testing.TB, key string) string {
	t.Helper()
	token, err := p.tokens.Grant(t.Context(), request(key))
	must(t, err)
	return token.Token
}

func (p process) authenticate(t testing.TB, token string) tenancy.Scope {
	t.Helper()
	scope, err := p.tokens.Authenticate(t.Context(), token)
	must(t, err)
	return scope
}

// request asks for a token as a client does that has the whole key.
func request(key string) tenancy.GrantRequest {
	id, _, _ := strings.Cut(strings.TrimPrefix(key, "hf_"), "_")
	return tenancy.GrantRequest{GrantType: "client_credentials", ClientID: "hf_" + id, ClientSecret: key}
}

func (in *installation) tenant(t testing.TB, name string) tenancy.Tenant {
	t.Helper()
	tenant, _, err := in.first.store.CreateTenant(t.Context(), in.ada, tenancy.NewTenant{Name: name, HandlePolicy: "ascii"})
	must(t, err)
	return tenant
}

func (in *installation) principal(t testing.TB, tenant domain.TenantID, name string, scopes ...string) tenancy.Principal {
	t.Helper()
	p, _, err := in.first.store.CreatePrincipal(t.Context(), in.ada, tenant, tenancy.NewPrincipal{Name: name, Scopes: scopes})
	must(t, err)
	return p
}

func (in *installation) key(t testing.TB, tenant domain.TenantID, p tenancy.Principal) (tenancy.Key, string) {
	t.Helper()
	key, text, _, err := in.first.store.CreateKey(t.Context(), in.ada, tenant, tenancy.NewKey{Principal: p.ID})
	must(t, err)
	return key, text
}

// client makes a tenant with one principal and one key.
func (in *installation) client(t testing.TB, name string) (tenancy.Tenant, tenancy.Key, string) {
	t.Helper()
	tenant := in.tenant(t, name)
	p := in.principal(t, tenant.ID, "backend", tenancy.IdentityRead, tenancy.IdentityWrite)
	key, text := in.key(t, tenant.ID, p)
	return tenant, key, text
}

// rows reads a query.
func rows[T any](t testing.TB, pool *pgxpool.Pool, to pgx.RowToFunc[T], sql string, args ...any) []T {
	t.Helper()
	r, _ := pool.Query(t.Context(), sql, args...)
	all, err := pgx.CollectRows(r, to)
	must(t, err)
	return all
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantCode fails unless the error is of the kind and has the code.
func wantCode(t testing.TB, err error, kind domain.Kind, code string) {
	t.Helper()
	if domain.KindOf(err) != kind || domain.CodeOf(err) != code {
		t.Errorf("error = %v, want %v %s", err, kind, code)
	}
}

// parallel calls fn n times at once and gives the answers.
func parallel[T any](ctx context.Context, n int, fn func(ctx context.Context, i int) (T, error)) ([]T, []error) {
	answers, errs := make([]T, n), make([]error, n)
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-begin
			answers[i], errs[i] = fn(ctx, i)
		})
	}
	close(begin)
	all.Wait()
	return answers, errs
}
