package tenancy_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func TestAuthenticate_OperatorAndTenantAreToldApart(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	_, _, text := in.client(t, "acme")
	tenant := in.first.authenticate(t, in.first.grant(t, text))
	if tenant.IsOperator() || tenant.Allows(tenancy.OperatorTenants) {
		t.Errorf("a tenant's token makes %+v", tenant)
	}
	want := tenancy.Scope{
		Tenant: tenancy.Operators, Principal: in.ada.Principal, Key: in.ada.Key, Name: "ada", Scopes: tenancy.OperatorScopes(),
		Expires: in.clock.Now().Add(15 * time.Minute),
	}
	if diff := cmp.Diff(want, in.ada); diff != "" {
		t.Errorf("an operator's token (-want +got)\n%s", diff)
	}
}

func TestAuthenticate_RefusesByCode(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	token := in.first.grant(t, in.adaKey)
	authenticate := func(token string) error {
		_, err := in.first.tokens.Authenticate(t.Context(), token)
		return err
	}
	wantCode(t, authenticate(""), domain.KindUnauthenticated, "token_missing")
	wantCode(t, authenticate(in.adaKey), domain.KindUnauthenticated, "token_invalid")
	wantCode(t, authenticate(token+"A"), domain.KindUnauthenticated, "token_invalid")
	in.first.authenticate(t, token)
	in.clock.advance(15*time.Minute + 5*time.Second)
	must(t, in.first.tokens.Poll(t.Context()))
	wantCode(t, authenticate(token), domain.KindUnauthenticated, "token_expired")
}

func TestTenantThatHasGone_LeavesNobodyWhoCalls(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant, _, text := in.client(t, "acme")
	app := in.publicClient(t, tenant.ID, "tv")
	token := in.first.grant(t, text)
	_, err := in.admin.Exec(t.Context(), `DELETE FROM tenants WHERE tenant_id = $1`, tenant.ID)
	must(t, err)
	fresh := in.start(t)
	must(t, fresh.tokens.Poll(t.Context()))
	_, err = fresh.tokens.Authenticate(t.Context(), token)
	wantCode(t, err, domain.KindUnauthenticated, "token_revoked")
	wantRefusedClient(t, fresh, tenancy.ClientIDText(app.ID), tenancy.GrantInvalidClient)
}

func TestAuthenticate_OtherInstallationsTokenIsRefused(t *testing.T) {
	t.Parallel()
	in, other := install(t, 1), install(t, 1)
	_, err := in.first.tokens.Authenticate(t.Context(), other.first.grant(t, other.adaKey))
	wantCode(t, err, domain.KindUnauthenticated, "token_invalid")
}

func TestBlindProcess_RefusesEverybodyUntilItPollsAgain(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	token := in.first.grant(t, in.adaKey)

	fresh := in.start(t)
	if fresh.tokens.Ready() == nil {
		t.Error("a process that never polled is ready")
	}
	_, err := fresh.tokens.Authenticate(t.Context(), token)
	wantCode(t, err, domain.KindUnavailable, "auth_unavailable")
	_, err = fresh.tokens.JWKS()
	wantCode(t, err, domain.KindUnavailable, "auth_unavailable")
	_, err = fresh.tokens.Grant(t.Context(), request(in.adaKey))
	wantCode(t, err, domain.KindUnavailable, "auth_unavailable")

	in.clock.advance(30 * time.Second)
	in.first.authenticate(t, token)
	in.clock.advance(time.Second)
	_, err = in.first.tokens.Authenticate(t.Context(), token)
	wantCode(t, err, domain.KindUnavailable, "auth_unavailable")
	wantCode(t, in.first.tokens.Ready(), domain.KindUnavailable, "auth_unavailable")

	// A poll that fails changes nothing.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := in.first.tokens.Poll(ctx); err == nil {
		t.Error("a poll without a database succeeded")
	}
	wantCode(t, in.first.tokens.Ready(), domain.KindUnavailable, "auth_unavailable")
	must(t, in.first.tokens.Poll(t.Context()))
	must(t, in.first.tokens.Ready())
	in.first.authenticate(t, token)
}

func TestRun_BringsARevocationToEveryProcess(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant, key, text := in.client(t, "acme")
	second := in.start(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ran := make(chan error, 1)
	go func() { ran <- second.tokens.Run(ctx) }()

	token := in.first.grant(t, text)
	eventually(t, func() bool { _, err := second.tokens.Authenticate(ctx, token); return err == nil })
	_, err := in.first.store.RevokeKey(ctx, in.ada, tenant.ID, key.ID)
	must(t, err)
	eventually(t, func() bool {
		_, err := second.tokens.Authenticate(ctx, token)
		return domain.CodeOf(err) == "token_revoked"
	})
	cancel()
	if err := <-ran; err != nil {
		t.Errorf("Run = %v, want nil when its context ends", err)
	}
}

// eventually waits until something that happens in the background has.
func eventually(t testing.TB, happened func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !happened() {
		select {
		case <-deadline:
			t.Fatal("it did not happen in time")
		case <-look.C:
		}
	}
}
