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

type revocationRow struct {
	Sequence int64
	Tenant   domain.TenantID
	Kind     string
	Subject  [16]byte
}

func (in *installation) revocations(t testing.TB) []revocationRow {
	t.Helper()
	return rows(t, in.admin, pgx.RowToStructByPos[revocationRow], `SELECT sequence, tenant_id, kind, subject FROM revocations ORDER BY sequence`)
}

func TestSuspension_RefusesTheTenantUntilItIsResumed(t *testing.T) {
	t.Parallel()
	in := install(t, 3)
	second := in.start(t)
	tenant, _, key := in.client(t, "acme")
	neighbour, _, neighbourKey := in.client(t, "neighbour")
	must(t, second.tokens.Poll(t.Context()))
	token, neighbourToken := in.first.grant(t, key), in.first.grant(t, neighbourKey)
	before := second.authenticate(t, token)
	revoked := len(in.revocations(t))

	suspended, err := in.first.store.SuspendTenant(t.Context(), in.ada, tenant.ID)
	must(t, err)
	again, err := in.first.store.SuspendTenant(t.Context(), in.ada, tenant.ID)
	must(t, err)
	want := tenant
	want.State, want.Revision = "suspended", tenant.Revision+1
	if diff := cmp.Diff([]tenancy.Tenant{want, want}, []tenancy.Tenant{suspended, again}); diff != "" {
		t.Errorf("suspended, and again (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(allGates("suspended"), in.gates(t, tenant.ID)); diff != "" {
		t.Errorf("gates (-want +got)\n%s", diff)
	}
	if got := len(in.revocations(t)); got != revoked+1 {
		t.Errorf("%d revocations were added, want 1", got-revoked)
	}
	for _, p := range []process{in.first, second} {
		must(t, p.tokens.Poll(t.Context()))
		_, err = p.tokens.Authenticate(t.Context(), token)
		wantCode(t, err, domain.KindForbidden, "tenant_suspended")
		if got := p.authenticate(t, neighbourToken); got.Tenant != neighbour.ID {
			t.Errorf("the neighbour is %v, want %v", got.Tenant, neighbour.ID)
		}
	}
	var refused *tenancy.GrantError
	if _, err := in.first.tokens.Grant(t.Context(), request(key)); !errors.As(err, &refused) || refused.Code != tenancy.GrantTenantSuspended {
		t.Errorf("grant: %v, want %s", err, tenancy.GrantTenantSuspended)
	}

	resumed, err := in.first.store.ResumeTenant(t.Context(), in.ada, tenant.ID)
	must(t, err)
	again, err = in.first.store.ResumeTenant(t.Context(), in.ada, tenant.ID)
	must(t, err)
	want.State, want.Revision = "active", tenant.Revision+2
	if diff := cmp.Diff([]tenancy.Tenant{want, want}, []tenancy.Tenant{resumed, again}); diff != "" {
		t.Errorf("resumed, and again (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(allGates("open"), in.gates(t, tenant.ID)); diff != "" {
		t.Errorf("gates (-want +got)\n%s", diff)
	}
	must(t, second.tokens.Poll(t.Context()))
	if diff := cmp.Diff(before, second.authenticate(t, token)); diff != "" {
		t.Errorf("the same token after the resume (-before +after)\n%s", diff)
	}
}

func TestSuspendTenant_InterruptedIsFinishedByARetry(t *testing.T) {
	t.Parallel()
	in := install(t, 3)
	gates := &brokenGates{Gates: tenancy.NewGates(in.first.router)}
	store := in.startOn(t, in.first.router, gates).store
	tenant := in.tenant(t, "acme")

	gates.broken.Store(true)
	if _, err := store.SuspendTenant(t.Context(), in.ada, tenant.ID); !errors.Is(err, errBroken) {
		t.Fatalf("error = %v, want %v", err, errBroken)
	}
	gates.broken.Store(false)
	if got, err := store.SuspendTenant(t.Context(), in.ada, tenant.ID); err != nil || got.Revision != tenant.Revision+1 {
		t.Errorf("retry = %+v, %v; want revision %d", got, err, tenant.Revision+1)
	}
	if diff := cmp.Diff(allGates("suspended"), in.gates(t, tenant.ID)); diff != "" {
		t.Errorf("gates (-want +got)\n%s", diff)
	}
}

func TestSuspendAndResumeAtOnce_LeaveGatesAsTheRowSays(t *testing.T) {
	t.Parallel()
	in := install(t, 3)
	tenant := in.tenant(t, "acme")
	for range 10 {
		_, errs := parallel(t.Context(), 4, func(ctx context.Context, i int) (tenancy.Tenant, error) {
			if i%2 == 0 {
				return in.first.store.SuspendTenant(ctx, in.ada, tenant.ID)
			}
			return in.first.store.ResumeTenant(ctx, in.ada, tenant.ID)
		})
		must(t, errors.Join(errs...))
		now, err := in.first.store.Tenant(t.Context(), in.ada, tenant.ID)
		must(t, err)
		want := map[string]string{"active": "open", "suspended": "suspended"}[now.State]
		if diff := cmp.Diff(allGates(want), in.gates(t, tenant.ID)); diff != "" {
			t.Fatalf("the tenant is %s; gates (-want +got)\n%s", now.State, diff)
		}
	}
}

func TestSuspendTenant_UnknownIsNotFound(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	for _, id := range []domain.TenantID{{1}, tenancy.Operators} {
		_, err := in.first.store.SuspendTenant(t.Context(), in.ada, id)
		wantCode(t, err, domain.KindNotFound, "tenant_not_found")
		_, err = in.first.store.ResumeTenant(t.Context(), in.ada, id)
		wantCode(t, err, domain.KindNotFound, "tenant_not_found")
	}
}
