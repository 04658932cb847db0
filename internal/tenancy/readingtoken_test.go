package tenancy_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func TestReadingToken_ReadsOneTenantsRecordsAndNothingElse(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant, _, _ := in.client(t, "acme")
	got, err := in.first.tokens.ReadingToken(t.Context(), in.ada, tenant.ID, "verification of m by ada")
	must(t, err)
	if got.ExpiresIn != int(tenancy.ReadingLife/time.Second) || got.Scope != tenancy.RecordRead {
		t.Errorf("the token is for %s, for %d s", got.Scope, got.ExpiresIn)
	}
	scope := in.first.authenticate(t, got.Token)
	want := tenancy.Scope{
		Tenant: tenant.ID, Principal: in.ada.Principal, Key: in.ada.Key, Name: "verification of m by ada", Scopes: []string{tenancy.RecordRead},
		Settings: scope.Settings, Expires: in.clock.Now().Add(tenancy.ReadingLife),
	}
	if diff := cmp.Diff(want, scope); diff != "" {
		t.Errorf("the token makes another caller (-want +got)\n%s", diff)
	}
}

func TestReadingToken_EndsWithTheOperatorsKey(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant, _, _ := in.client(t, "acme")
	token, err := in.first.tokens.ReadingToken(t.Context(), in.ada, tenant.ID, "verification")
	must(t, err)
	in.first.authenticate(t, token.Token)
	_, err = in.first.store.RevokeKey(t.Context(), in.ada, tenancy.Operators, in.ada.Key)
	must(t, err)
	must(t, in.first.tokens.Poll(t.Context()))
	_, err = in.first.tokens.Authenticate(t.Context(), token.Token)
	wantCode(t, err, domain.KindUnauthenticated, "token_revoked")
	_, err = in.first.tokens.ReadingToken(t.Context(), in.ada, tenant.ID, "verification")
	wantCode(t, err, domain.KindUnauthenticated, "token_revoked")
}

func TestReadingToken_IsForOperatorsWhoMigrate(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant, _, text := in.client(t, "acme")
	other := in.ada
	other.Scopes = []string{tenancy.OperatorApprove, tenancy.OperatorRead, tenancy.OperatorTenants}
	for _, caller := range []tenancy.Scope{other, in.first.authenticate(t, in.first.grant(t, text))} {
		_, err := in.first.tokens.ReadingToken(t.Context(), caller, tenant.ID, "verification")
		wantCode(t, err, domain.KindForbidden, "insufficient_scope")
	}
	_, err := in.first.tokens.ReadingToken(t.Context(), in.ada, domain.NewID[domain.TenantKind](time.Now()), "verification")
	wantCode(t, err, domain.KindNotFound, "tenant_not_found")
}
