package main

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/httpapi"
	"github.com/holdfast-dev/holdfast/internal/launch"
	"github.com/holdfast-dev/holdfast/internal/limits"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/web"
)

// keptStack is a stack whose API serves on databases of the test's own.
func keptStack(t *testing.T) *stack {
	t.Helper()
	router := testkit.Databases(t, 1).Router(t, postgres.RoleAPI)
	log := slog.New(slog.DiscardHandler)
	operatorKey := tenancy.GenerateKey(time.Now())
	var secret [32]byte
	rand.Read(secret[:])
	keys, err := tenancy.NewServerKeys(tenancy.ServerKey{ID: "k1", Secret: secret})
	must(t, err)
	store := tenancy.NewStore(router.Control(), tenancy.NewGates(router), keys, time.Now)
	_, err = store.Bootstrap(t.Context(), []tenancy.BootstrapKey{{Name: "first", Key: operatorKey}})
	must(t, err)
	tokens, err := tenancy.NewTokens(store, tenancy.TokenSettings{Issuer: "https://holdfast.example"}, log)
	must(t, err)
	must(t, tokens.Poll(t.Context()))
	auditLog := audit.New(store, nil, time.Now)
	limiter, err := limits.NewLimiter(limits.NewStore(store, time.Now), nil, log)
	must(t, err)
	api, err := httpapi.New(httpapi.Options{
		Limiter: limiter,
		Audit:   auditLog, AuditRefusals: audit.NewRefusals(auditLog),
		Document: web.OpenAPI, Issuer: "https://holdfast.example", Directory: identity.New(router, nil, identity.Options{}), Administration: store,
		Tokens: tokens, CursorSecrets: [][]byte{secret[:]}, Log: log, Tracers: tracenoop.NewTracerProvider(), Meters: metricnoop.NewMeterProvider(),
	})
	must(t, err)
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	s := &stack{api: &launch.Process{Address: strings.TrimPrefix(server.URL, "http://")}}
	s.operator, err = s.connect(operatorKey)
	must(t, err)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run is what one run of make dev finds: the tenant's name, and whether all of it
// is what another run had.
func (s *stack) run(t *testing.T) (*tenant, holdfast.PublicClient) {
	t.Helper()
	found, client, err := s.keptTenant(t.Context(), &narrator{out: io.Discard})
	must(t, err)
	if _, err := found.client.ListAccountsWithResponse(t.Context(), nil); err != nil {
		t.Errorf("the key of %s: %v", found.name, err)
	}
	return found, client
}

func TestDev_FindsTheTenantOfTheRunBefore(t *testing.T) {
	t.Parallel()
	s := keptStack(t)
	first, client := s.run(t)
	again, sameClient := s.run(t)
	if first.kept || !again.kept {
		t.Errorf("from an earlier run: %v, then %v", first.kept, again.kept)
	}
	if again.name != "acme" || again.id != first.id || again.principal != first.principal || again.key != first.key || sameClient.ID != client.ID {
		t.Errorf("the second run has %+v and %s, the first had %+v and %s", again, sameClient.ID, first, client.ID)
	}
	all, err := s.operator.ListTenantsWithResponse(t.Context(), nil)
	must(t, err)
	if n := len(all.JSON200.Tenants); n != 1 {
		t.Errorf("two runs made %d tenants", n)
	}
}

func TestDev_LeavesATenantThatCanNotBeUsed(t *testing.T) {
	t.Parallel()
	for name, takeAway := range map[string]func(ctx context.Context, s *stack, made *tenant, client holdfast.PublicClient) error{
		"suspended": func(ctx context.Context, s *stack, made *tenant, _ holdfast.PublicClient) error {
			_, err := s.operator.SuspendTenantWithResponse(ctx, made.id)
			return err
		},
		"its principal disabled": func(ctx context.Context, s *stack, made *tenant, _ holdfast.PublicClient) error {
			_, err := s.operator.DisablePrincipalWithResponse(ctx, made.id, made.principal)
			return err
		},
		"its key revoked": func(ctx context.Context, s *stack, made *tenant, _ holdfast.PublicClient) error {
			keys, err := s.operator.ListAPIKeysWithResponse(ctx, made.id, made.principal, nil)
			if err != nil {
				return err
			}
			_, err = s.operator.RevokeAPIKeyWithResponse(ctx, made.id, keys.JSON200.APIKeys[0].ID)
			return err
		},
		"its client disabled": func(ctx context.Context, s *stack, made *tenant, client holdfast.PublicClient) error {
			_, err := s.operator.DisableClientWithResponse(ctx, made.id, client.ID)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := keptStack(t)
			first, client := s.run(t)
			must(t, takeAway(t.Context(), s, first, client))
			for range 2 {
				if next, _ := s.run(t); next.name != "acme-2" || next.id == first.id {
					t.Errorf("the next run has %s", next.name)
				}
			}
		})
	}
}

func TestDev_LeavesATenantOfSomebodyElses(t *testing.T) {
	t.Parallel()
	s := keptStack(t)
	_, err := s.operator.CreateTenantWithResponse(t.Context(), nil, holdfast.NewTenant{Name: "acme"})
	must(t, err)
	if got, _ := s.run(t); got.name != "acme-2" {
		t.Errorf("it took the tenant %s", got.name)
	}
}

func TestPrintCalls_HasTheCheckInOneLine(t *testing.T) {
	t.Setenv("HOLDFAST_CONTROL_URL", "postgres://127.0.0.1:5432/control")
	t.Setenv("HOLDFAST_DATA_URLS", "data1=postgres://127.0.0.1:5432/one data2=postgres://127.0.0.1:5432/two")
	t.Setenv("HOLDFAST_PLACEMENT", "data1=0-31 data2=32-63")
	t.Setenv("HOLDFAST_API_PASSWORD", "it's")
	t.Setenv("HOLDFAST_POOLER", "")
	s := &stack{api: &launch.Process{Address: "127.0.0.1:8080"}, acme: &tenant{name: "acme", id: "the-id", key: "hf_a_b", kept: true}}
	var err error
	s.log, err = os.CreateTemp(t.TempDir(), "log")
	must(t, err)
	defer s.log.Close()
	var out strings.Builder
	must(t, s.printCalls(&out, "hfc_1"))
	want := `
  HOLDFAST_CONTROL_URL='postgres://127.0.0.1:5432/control' HOLDFAST_DATA_URLS='data1=postgres://127.0.0.1:5432/one data2=postgres://127.0.0.1:5432/two' ` +
		`HOLDFAST_PLACEMENT='data1=0-31 data2=32-63' HOLDFAST_API_PASSWORD='it'\''s' bin/holdfast identity check the-id
`
	if !strings.Contains(out.String(), want) {
		t.Errorf("%s\nlacks %s", &out, want)
	}
	if !strings.Contains(out.String(), "The tenant acme is there, as an earlier run made it, with a key.") {
		t.Errorf("it doesn't tell of the earlier run:\n%s", &out)
	}
}
