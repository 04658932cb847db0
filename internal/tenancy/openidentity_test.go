package tenancy_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func (in *installation) importingTenant(t testing.TB, name string) tenancy.Tenant {
	t.Helper()
	tenant, _, err := in.first.store.CreateTenant(t.Context(), in.ada,
		tenancy.NewTenant{Name: name, HandlePolicy: "ascii", IdentityState: tenancy.IdentityImporting})
	must(t, err)
	return tenant
}

func gatesOf(state, identity string) []gateRow {
	gates := allGates(state)
	for i := range gates {
		gates[i].IdentityState = identity
	}
	return gates
}

// serves tells whether the tenant's namespace does, on every data database.
func (in *installation) serves(t testing.TB, tenant domain.TenantID) error {
	t.Helper()
	for number := range domain.Number(domain.Numbers) {
		entry := tenancy.Entry{Tenant: tenant, Numbers: []domain.Number{number}, Purpose: tenancy.Serve, Layout: domain.Layout, ReadOnly: true}
		err := tenancy.Run(t.Context(), in.first.router.Database(number), entry, func(context.Context, *tenancy.Tx) error { return nil })
		if err != nil {
			return err
		}
	}
	return nil
}

func TestOpenIdentity_EndsTheImportOnEveryDataDatabase(t *testing.T) {
	t.Parallel()
	in := install(t, 3)
	tenant := in.importingTenant(t, "acme")
	if tenant.IdentityState != "importing" || tenant.State != "active" {
		t.Errorf("tenant = %+v, want it active and importing", tenant)
	}
	if diff := cmp.Diff(gatesOf("open", "importing"), in.gates(t, tenant.ID)); diff != "" {
		t.Errorf("gates (-want +got)\n%s", diff)
	}
	wantCode(t, in.serves(t, tenant.ID), domain.KindForbidden, "namespace_importing")

	want := tenant
	want.IdentityState, want.Revision = "open", tenant.Revision+1
	for range 2 {
		got, err := in.first.store.OpenIdentity(t.Context(), in.ada, tenant.ID)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("opened: %v (-want +got)\n%s", err, diff)
		}
	}
	if diff := cmp.Diff(gatesOf("open", "open"), in.gates(t, tenant.ID)); diff != "" {
		t.Errorf("gates (-want +got)\n%s", diff)
	}
	must(t, in.serves(t, tenant.ID))
}

func TestOpenIdentity_InterruptedIsFinishedByARetry(t *testing.T) {
	t.Parallel()
	in := install(t, 3)
	gates := &brokenGates{Gates: tenancy.NewGates(in.first.router)}
	store := in.startOn(t, in.first.router, gates).store
	tenant := in.importingTenant(t, "acme")

	gates.broken.Store(true)
	if _, err := store.OpenIdentity(t.Context(), in.ada, tenant.ID); !errors.Is(err, errBroken) {
		t.Fatalf("error = %v, want %v", err, errBroken)
	}
	wantCode(t, in.serves(t, tenant.ID), domain.KindForbidden, "namespace_importing")
	gates.broken.Store(false)
	if got, err := store.OpenIdentity(t.Context(), in.ada, tenant.ID); err != nil || got.Revision != tenant.Revision+1 {
		t.Errorf("retry = %+v, %v; want revision %d", got, err, tenant.Revision+1)
	}
	must(t, in.serves(t, tenant.ID))
}

func TestOpenIdentity_OfASuspendedTenantShowsWhenItIsResumed(t *testing.T) {
	t.Parallel()
	in := install(t, 3)
	tenant := in.importingTenant(t, "acme")
	_, err := in.first.store.SuspendTenant(t.Context(), in.ada, tenant.ID)
	must(t, err)
	opened, err := in.first.store.OpenIdentity(t.Context(), in.ada, tenant.ID)
	if err != nil || opened.State != "suspended" || opened.IdentityState != "open" {
		t.Errorf("opened = %+v, %v; want it suspended and open", opened, err)
	}
	if diff := cmp.Diff(gatesOf("suspended", "open"), in.gates(t, tenant.ID)); diff != "" {
		t.Errorf("gates (-want +got)\n%s", diff)
	}
	wantCode(t, in.serves(t, tenant.ID), domain.KindForbidden, "tenant_suspended")
	_, err = in.first.store.ResumeTenant(t.Context(), in.ada, tenant.ID)
	must(t, err)
	must(t, in.serves(t, tenant.ID))
}

func TestOpenIdentity_AmongSuspensionsLeavesGatesAsTheRowSays(t *testing.T) {
	t.Parallel()
	in := install(t, 3)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		tenant := in.importingTenant(t, name)
		_, errs := parallel(t.Context(), 6, func(ctx context.Context, i int) (tenancy.Tenant, error) {
			switch i % 3 {
			case 0:
				return in.first.store.OpenIdentity(ctx, in.ada, tenant.ID)
			case 1:
				return in.first.store.SuspendTenant(ctx, in.ada, tenant.ID)
			default:
				return in.first.store.ResumeTenant(ctx, in.ada, tenant.ID)
			}
		})
		must(t, errors.Join(errs...))
		now, err := in.first.store.Tenant(t.Context(), in.ada, tenant.ID)
		must(t, err)
		want := map[string]string{"active": "open", "suspended": "suspended"}[now.State]
		if diff := cmp.Diff(gatesOf(want, "open"), in.gates(t, tenant.ID)); diff != "" || now.IdentityState != "open" {
			t.Fatalf("the tenant is %s and %s; gates (-want +got)\n%s", now.State, now.IdentityState, diff)
		}
	}
}

func TestOpenIdentity_RefusesATenantThatIsNotThereOrNotWhole(t *testing.T) {
	t.Parallel()
	in := install(t, 3)
	for _, id := range []domain.TenantID{{1}, tenancy.Operators} {
		_, err := in.first.store.OpenIdentity(t.Context(), in.ada, id)
		wantCode(t, err, domain.KindNotFound, "tenant_not_found")
	}
	gates := &brokenGates{Gates: tenancy.NewGates(in.first.router)}
	gates.broken.Store(true)
	broken := in.startOn(t, in.first.router, gates).store
	want := tenancy.NewTenant{Name: "acme", HandlePolicy: "ascii", IdentityState: "importing", IdempotencyKey: "one"}
	if _, _, err := broken.CreateTenant(t.Context(), in.ada, want); !errors.Is(err, errBroken) {
		t.Fatalf("error = %v, want %v", err, errBroken)
	}
	id := rows(t, in.admin, pgx.RowTo[domain.TenantID], `SELECT tenant_id FROM tenants`)[0]
	_, err := in.first.store.OpenIdentity(t.Context(), in.ada, id)
	wantCode(t, err, domain.KindConflict, "tenant_provisioning")
	_, _, err = in.first.store.CreateClient(t.Context(), in.ada, id, tenancy.NewClient{Name: "tv", VerificationURI: verificationURI})
	wantCode(t, err, domain.KindConflict, "tenant_provisioning")

	got, replayed, err := in.first.store.CreateTenant(t.Context(), in.ada, want)
	if err != nil || !replayed || got.State != "active" || got.IdentityState != "importing" {
		t.Errorf("retry = %+v, replayed %v, %v; want it active and still importing", got, replayed, err)
	}
}

func TestCreateTenant_IdentityStateIsPartOfTheRequest(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	create := func(key, name, state string) (tenancy.Tenant, bool, error) {
		return in.first.store.CreateTenant(t.Context(), in.ada,
			tenancy.NewTenant{Name: name, HandlePolicy: "ascii", IdentityState: state, IdempotencyKey: key})
	}
	open, _, err := create("one", "a", "")
	must(t, err)
	importing, _, err := create("two", "b", "importing")
	must(t, err)
	for _, state := range []string{"", "open"} { // the default, said or not
		got, replayed, err := create("one", "a", state)
		if err != nil || !replayed || got.ID != open.ID {
			t.Errorf("retry with %q = %v, replayed %v, %v; want %v", state, got.ID, replayed, err, open.ID)
		}
		_, _, err = create("two", "b", state)
		wantCode(t, err, domain.KindInvalid, "idempotency_key_reused")
	}
	_, _, err = create("one", "a", "importing")
	wantCode(t, err, domain.KindInvalid, "idempotency_key_reused")
	_, err = in.first.store.OpenIdentity(t.Context(), in.ada, importing.ID)
	must(t, err)
	got, replayed, err := create("two", "b", "importing") // its answer was lost for long
	if err != nil || !replayed || got.ID != importing.ID || got.IdentityState != "open" {
		t.Errorf("retry after the opening = %+v, replayed %v, %v; want it as it is now", got, replayed, err)
	}
	for _, state := range []string{"closed", "Open", " "} {
		_, _, err = create("three", "c", state)
		wantCode(t, err, domain.KindInvalid, "identity_state_unknown")
	}
}
