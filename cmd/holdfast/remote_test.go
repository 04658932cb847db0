package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/export"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/httpapi"
	"github.com/holdfast-dev/holdfast/internal/jobs"
	"github.com/holdfast-dev/holdfast/internal/limits"
	"github.com/holdfast-dev/holdfast/internal/objectstore"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/web"
)

// service is the API on databases of the test's own.
type service struct {
	installation *testkit.Installation
	url          string
	operatorKey  string // of the operator "first"
	graceKey     string // of the operator "grace", whom nobody made either
	tokens       *tenancy.Tokens
	keys         *tenancy.CheckpointKeys
	objects      *objects
	records      *record.Service
	migrations   *migration.Service // of the bucket that bodies are kept in
}

// objects are an object store in which bodies are safe, but for err.
type objects struct{ err error }

func (o *objects) CheckStore(context.Context) error { return o.err }

func serve(t *testing.T, databases ...string) *service {
	t.Helper()
	return serveOn(t, objectstore.Settings{}, databases...)
}

// serveOn likewise keeps bodies in a bucket, if there is one.
func serveOn(t *testing.T, bucket objectstore.Settings, databases ...string) *service {
	t.Helper()
	s := &service{installation: testkit.Databases(t, len(databases)), operatorKey: tenancy.GenerateKey(time.Now()), graceKey: tenancy.GenerateKey(time.Now()), objects: &objects{}}
	router := s.installation.Router(t, postgres.RoleAPI)
	tel := &telemetry.Telemetry{Log: slog.New(slog.DiscardHandler), Tracers: tracenoop.NewTracerProvider(), Meters: metricnoop.NewMeterProvider()}
	var secret [32]byte
	rand.Read(secret[:])
	keys, err := tenancy.NewServerKeys(tenancy.ServerKey{ID: "k1", Secret: secret})
	must(t, err)
	store := tenancy.NewStore(router.Control(), tenancy.NewGates(router), keys, time.Now)
	_, err = store.Bootstrap(t.Context(), []tenancy.BootstrapKey{{Name: "first", Key: s.operatorKey}, {Name: "grace", Key: s.graceKey}})
	must(t, err)
	s.tokens, err = tenancy.NewTokens(store, tenancy.TokenSettings{Issuer: "https://holdfast.example"}, tel.Log)
	must(t, err)
	must(t, s.tokens.Poll(t.Context()))
	inserter, err := jobs.NewInserter(router.Control(), tel)
	must(t, err)
	coordinator := lease.New(router, oneSecret(secret), lease.Options{})
	var bodies record.Store
	if bucket.Bucket != "" {
		bodies = testkit.OpenBodies(t, bucket)
	}
	s.records = record.New(router, coordinator, bodies, record.Options{})
	s.migrations = migration.New(router, store, s.records, migration.Options{
		Build: telemetry.Build(), IDKey: secret[:], Place: migration.PlaceOf(bucket.Endpoint, bucket.Bucket), Tokens: s.tokens,
	})
	s.keys = tenancy.NewCheckpointKeys(store)
	auditLog := audit.New(store, s.keys, time.Now)
	tenantLimits := limits.NewStore(store, time.Now)
	limiter, err := limits.NewLimiter(tenantLimits, databases, tel.Log)
	must(t, err)
	api, err := httpapi.New(httpapi.Options{
		Limiter: limiter, TenantLimits: tenantLimits,
		Document: web.OpenAPI, Issuer: "https://holdfast.example", Directory: identity.New(router, nil, identity.Options{}),
		Coordinator: coordinator, Records: s.records, Memory: s.records.Memory(), Migrations: s.migrations,
		Exports:        exportOf(router, store, bodies),
		Administration: store, StorageGuard: s.objects, Tokens: s.tokens,
		Audit: auditLog, AuditRefusals: audit.NewRefusals(auditLog),
		Jobs: inserter, Databases: databases, CursorSecrets: [][]byte{secret[:]}, Log: tel.Log, Tracers: tel.Tracers, Meters: tel.Meters,
	})
	must(t, err)
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// oneSecret is a server with one key, from which leases' secrets derive.
type oneSecret [32]byte

func (s oneSecret) Derive(parts ...string) (secret []byte, keyID string) {
	return domain.DeriveSecret(s[:], parts...), "k1"
}

func (s oneSecret) DeriveWith(keyID string, parts ...string) (secret []byte, ok bool) {
	return domain.DeriveSecret(s[:], parts...), keyID == "k1"
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// as is the environment of somebody with a key.
func (s *service) as(key string) []string {
	return []string{"HOLDFAST_URL=" + s.url, "HOLDFAST_API_KEY=" + key}
}

// said runs a command as the operator and gives what it prints.
func (s *service) said(t *testing.T, args ...string) string {
	t.Helper()
	got := execute(t, s.as(s.operatorKey), args...)
	if got.code != exitOK || got.stderr != "" {
		t.Fatalf("%v: %+v", args, got)
	}
	return got.stdout
}

// told likewise reads what it prints with --json.
func told[T any](t *testing.T, s *service, args ...string) (value T) {
	t.Helper()
	text := s.said(t, append(args, "--json")...)
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%v: %v in %s", args, err, text)
	}
	return value
}

// refused runs a command that must fail, and gives the error that it prints.
func refused(t *testing.T, environ []string, code int, args ...string) string {
	t.Helper()
	got := execute(t, environ, args...)
	if got.code != code || got.stdout != "" {
		t.Fatalf("%v: %+v, want code %d", args, got, code)
	}
	return got.stderr
}

// exportOf reads what tenants own, as the API does.
func exportOf(router *postgres.Router, store *tenancy.Store, bodies record.Store) *export.Service {
	journals := lease.New(router, nil, lease.Options{Purpose: tenancy.Export})
	return export.New(router, store, journals, record.New(router, nil, bodies, record.Options{Purpose: tenancy.Export}))
}
