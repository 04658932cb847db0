package tenancy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

type gateRow struct {
	Name, State, Layout, IdentityState string
	RecordFormat                       int16
}

// gates reads the tenant's gates of all data databases.
func (in *installation) gates(t testing.TB, tenant domain.TenantID) []gateRow {
	t.Helper()
	var gates []gateRow
	for _, db := range in.first.router.Databases() {
		gates = append(gates, rows(t, in.databases.Admin(t, db.Name), pgx.RowToStructByPos[gateRow],
			`SELECT $2::text, state, layout, identity_state, record_format FROM tenant_gates WHERE tenant_id = $1`, tenant, db.Name)...)
	}
	return gates
}

func allGates(state string) []gateRow {
	var gates []gateRow
	for _, name := range []string{"data1", "data2", "data3"} {
		gates = append(gates, gateRow{name, state, domain.Layout, "open", 1})
	}
	return gates
}

func TestCreateTenant_OpensItOnEveryDataDatabase(t *testing.T) {
	t.Parallel()
	in := install(t, 3)
	got, replayed, err := in.first.store.CreateTenant(t.Context(), in.ada, tenancy.NewTenant{Name: "acme", HandlePolicy: "unicode"})
	must(t, err)
	want := tenancy.Tenant{
		ID: got.ID, Name: "acme", State: "active", Layout: domain.Layout, IdentityState: "open", HandlePolicy: "unicode", RecordFormat: 1,
		Revision: 2, CreatedAt: in.clock.Now(), UpdatedAt: in.clock.Now(),
	}
	if diff := cmp.Diff(want, got); diff != "" || replayed {
		t.Errorf("replayed %v, tenant (-want +got)\n%s", replayed, diff)
	}
	read, err := in.first.store.Tenant(t.Context(), in.ada, got.ID)
	if diff := cmp.Diff(want, read); diff != "" || err != nil {
		t.Errorf("read: %v (-want +got)\n%s", err, diff)
	}
	if diff := cmp.Diff(allGates("open"), in.gates(t, got.ID)); diff != "" {
		t.Errorf("gates (-want +got)\n%s", diff)
	}
}

// brokenGates fails on the data databases for as long as it is told to.
type brokenGates struct {
	*tenancy.Gates
	broken atomic.Bool
}

var errBroken = errors.New("a data database is away")

func (g *brokenGates) Set(ctx context.Context, tenant domain.TenantID, state tenancy.GateState) error {
	if g.broken.Load() {
		return errBroken
	}
	return g.Gates.Set(ctx, tenant, state)
}

func TestCreateTenant_InterruptedIsFinishedByARetry(t *testing.T) {
	t.Parallel()
	in := install(t, 3)
	gates := &brokenGates{Gates: tenancy.NewGates(in.first.router)}
	store := in.startOn(t, in.first.router, gates).store
	want := tenancy.NewTenant{Name: "acme", HandlePolicy: "ascii", IdempotencyKey: "one"}

	gates.broken.Store(true)
	if _, _, err := store.CreateTenant(t.Context(), in.ada, want); !errors.Is(err, errBroken) {
		t.Fatalf("error = %v, want %v", err, errBroken)
	}
	tenants, _, err := store.Tenants(t.Context(), in.ada, tenancy.List[string]{Limit: 10})
	must(t, err)
	if len(tenants) != 1 || tenants[0].State != tenancy.TenantProvisioning {
		t.Fatalf("tenants = %+v, want one that is provisioning", tenants)
	}
	_, _, err = store.CreatePrincipal(t.Context(), in.ada, tenants[0].ID, tenancy.NewPrincipal{Name: "p", Scopes: []string{tenancy.LeaseRead}})
	wantCode(t, err, domain.KindConflict, "tenant_provisioning")
	_, err = store.SuspendTenant(t.Context(), in.ada, tenants[0].ID)
	wantCode(t, err, domain.KindConflict, "tenant_provisioning")

	gates.broken.Store(false)
	got, replayed, err := store.CreateTenant(t.Context(), in.ada, want)
	must(t, err)
	if got.ID != tenants[0].ID || got.State != tenancy.TenantActive || !replayed {
		t.Errorf("retry = %+v, replayed %v; want the same tenant, active and replayed", got, replayed)
	}
	if diff := cmp.Diff(allGates("open"), in.gates(t, got.ID)); diff != "" {
		t.Errorf("gates (-want +got)\n%s", diff)
	}
}

func TestResumeTenant_FinishesAnAbandonedCreation(t *testing.T) {
	t.Parallel()
	in := install(t, 3)
	gates := &brokenGates{Gates: tenancy.NewGates(in.first.router)}
	gates.broken.Store(true)
	store := in.startOn(t, in.first.router, gates).store
	if _, _, err := store.CreateTenant(t.Context(), in.ada, tenancy.NewTenant{Name: "acme", HandlePolicy: "ascii"}); err == nil {
		t.Fatal("a tenant was made without its gates")
	}
	tenants, _, err := store.Tenants(t.Context(), in.ada, tenancy.List[string]{Limit: 1})
	must(t, err)
	got, err := in.first.store.ResumeTenant(t.Context(), in.ada, tenants[0].ID)
	if err != nil || got.State != tenancy.TenantActive {
		t.Errorf("resume = %+v, %v; want it active", got, err)
	}
	if diff := cmp.Diff(allGates("open"), in.gates(t, got.ID)); diff != "" {
		t.Errorf("gates (-want +got)\n%s", diff)
	}
}

func TestCreateTenant_OneKeyOneTenant(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	want := tenancy.NewTenant{Name: "acme", HandlePolicy: "ascii", IdempotencyKey: "one"}
	ids, errs := parallel(t.Context(), 8, func(ctx context.Context, i int) (domain.TenantID, error) {
		tenant, _, err := in.first.store.CreateTenant(ctx, in.ada, want)
		return tenant.ID, err
	})
	for i, err := range errs {
		if err != nil || ids[i] != ids[0] {
			t.Errorf("racer %d = %v, %v; want %v", i, ids[i], err, ids[0])
		}
	}

	other := want
	other.Name = "other"
	_, _, err := in.first.store.CreateTenant(t.Context(), in.ada, other)
	wantCode(t, err, domain.KindInvalid, "idempotency_key_reused")
	other = want
	other.HandlePolicy = "unicode"
	_, _, err = in.first.store.CreateTenant(t.Context(), in.ada, other)
	wantCode(t, err, domain.KindInvalid, "idempotency_key_reused")
	other = want
	other.IdempotencyKey = "two"
	_, _, err = in.first.store.CreateTenant(t.Context(), in.ada, other)
	wantCode(t, err, domain.KindConflict, "tenant_name_taken")
	grace := in.ada
	grace.Principal = domain.PrincipalID{1}
	_, _, err = in.first.store.CreateTenant(t.Context(), grace, want)
	wantCode(t, err, domain.KindConflict, "tenant_name_taken") // her key "one" is not ada's

	// Server keys rotate; ids must not.
	rotated := in.start(t, serverKey("k2"))
	got, replayed, err := rotated.store.CreateTenant(t.Context(), in.ada, want)
	if err != nil || got.ID != ids[0] || !replayed {
		t.Errorf("under another server key: %v, replayed %v, %v; want %v replayed", got.ID, replayed, err, ids[0])
	}
}

func TestCreateTenant_RefusesWhatIsMalformed(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	good := tenancy.NewTenant{Name: "acme", HandlePolicy: "ascii"}
	for _, name := range []string{"", "-acme", "Acme", "acme.eu", "a b", "ä", "acme\n", strings.Repeat("a", 64)} {
		want := good
		want.Name = name
		_, _, err := in.first.store.CreateTenant(t.Context(), in.ada, want)
		wantCode(t, err, domain.KindInvalid, "tenant_name_invalid")
	}
	want := good
	want.HandlePolicy = "latin1"
	_, _, err := in.first.store.CreateTenant(t.Context(), in.ada, want)
	wantCode(t, err, domain.KindInvalid, "handle_policy_unknown")
	for _, key := range []string{strings.Repeat("k", 256), "\xff"} {
		want := good
		want.IdempotencyKey = key
		_, _, err := in.first.store.CreateTenant(t.Context(), in.ada, want)
		wantCode(t, err, domain.KindInvalid, "idempotency_key_invalid")
	}
	want = good
	want.IdempotencyKey = strings.Repeat("ä", 255)
	if _, _, err := in.first.store.CreateTenant(t.Context(), in.ada, want); err != nil {
		t.Errorf("255 characters: %v", err)
	}
}

func TestTenants_PagesByName(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	for _, name := range []string{"c", "a-b", "b", "a"} {
		in.tenant(t, name)
	}
	var got []string
	page := tenancy.List[string]{Limit: 3}
	for {
		tenants, more, err := in.first.store.Tenants(t.Context(), in.ada, page)
		must(t, err)
		got = append(got, fmt.Sprint(len(tenants)))
		for _, tenant := range tenants {
			got = append(got, tenant.Name)
			page.After = tenant.Name
		}
		if !more {
			break
		}
	}
	if diff := cmp.Diff([]string{"3", "a", "a-b", "b", "1", "c"}, got); diff != "" {
		t.Errorf("pages (-want +got)\n%s", diff)
	}
}
