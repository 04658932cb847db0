package tenancy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func TestCreatePrincipal_IsListedAndReplayed(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	store := in.first.store
	tenant, other := in.tenant(t, "acme"), in.tenant(t, "other")
	want := tenancy.NewPrincipal{
		Name: "backend", Scopes: []string{tenancy.RecordRead, tenancy.IdentityRead, tenancy.RecordRead}, IdempotencyKey: "one",
	}
	made, replayed, err := store.CreatePrincipal(t.Context(), in.ada, tenant.ID, want)
	must(t, err)
	expected := tenancy.Principal{
		ID: made.ID, Name: "backend", Scopes: []string{tenancy.IdentityRead, tenancy.RecordRead}, CreatedAt: in.clock.Now(),
	}
	if diff := cmp.Diff(expected, made); diff != "" || replayed {
		t.Errorf("replayed %v, principal (-want +got)\n%s", replayed, diff)
	}
	again, replayed, err := store.CreatePrincipal(t.Context(), in.ada, tenant.ID, want)
	if diff := cmp.Diff(expected, again); diff != "" || !replayed || err != nil {
		t.Errorf("retry: replayed %v, %v, principal (-want +got)\n%s", replayed, err, diff)
	}

	reused := want
	reused.Scopes = []string{tenancy.RecordRead}
	_, _, err = store.CreatePrincipal(t.Context(), in.ada, tenant.ID, reused)
	wantCode(t, err, domain.KindInvalid, "idempotency_key_reused")
	taken := want
	taken.IdempotencyKey = ""
	_, _, err = store.CreatePrincipal(t.Context(), in.ada, tenant.ID, taken)
	wantCode(t, err, domain.KindConflict, "principal_name_taken")

	elsewhere, _, err := store.CreatePrincipal(t.Context(), in.ada, other.ID, want)
	if err != nil || elsewhere.ID == made.ID {
		t.Errorf("the same request in another tenant = %v, %v; want another principal", elsewhere.ID, err)
	}
	in.principal(t, tenant.ID, "a", tenancy.LeaseRead)
	names := []string{}
	page := tenancy.List[string]{Limit: 1}
	for more := true; more; {
		var found []tenancy.Principal
		found, more, err = store.Principals(t.Context(), in.ada, tenant.ID, page)
		must(t, err)
		names = append(names, found[0].Name)
		page.After = found[0].Name
	}
	if diff := cmp.Diff([]string{"a", "backend"}, names); diff != "" {
		t.Errorf("listed (-want +got)\n%s", diff)
	}
}

func TestCreatePrincipal_RefusesWhatIsMalformed(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	store, tenant := in.first.store, in.tenant(t, "acme")
	create := func(name string, scopes ...string) error {
		_, _, err := store.CreatePrincipal(t.Context(), in.ada, tenant.ID, tenancy.NewPrincipal{Name: name, Scopes: scopes})
		return err
	}
	for _, name := range []string{"", "Ada", "аda" /* Cyrillic */, ".a", "a b", "a\x00", strings.Repeat("a", 129)} {
		wantCode(t, create(name, tenancy.LeaseRead), domain.KindInvalid, "principal_name_invalid")
	}
	wantCode(t, create("p"), domain.KindInvalid, "scopes_missing")
	for _, scope := range append(tenancy.OperatorScopes(), "", "identity:*", "identity:Read") {
		wantCode(t, create("p", tenancy.LeaseRead, scope), domain.KindInvalid, "scope_not_grantable")
	}
	for _, id := range []domain.TenantID{{1}, tenancy.Operators} {
		_, _, err := store.CreatePrincipal(t.Context(), in.ada, id, tenancy.NewPrincipal{Name: "p", Scopes: []string{tenancy.LeaseRead}})
		wantCode(t, err, domain.KindNotFound, "tenant_not_found")
		_, _, err = store.Principals(t.Context(), in.ada, id, tenancy.List[string]{})
		wantCode(t, err, domain.KindNotFound, "tenant_not_found")
		_, err = store.DisablePrincipal(t.Context(), in.ada, id, in.ada.Principal)
		wantCode(t, err, domain.KindNotFound, "tenant_not_found")
	}
}

func TestDisablePrincipal_EndsItsKeysAndTokens(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant := in.tenant(t, "acme")
	p := in.principal(t, tenant.ID, "backend", tenancy.IdentityRead)
	_, one := in.key(t, tenant.ID, p)
	_, two := in.key(t, tenant.ID, p)
	other := in.principal(t, tenant.ID, "other", tenancy.IdentityRead)
	_, otherKey := in.key(t, tenant.ID, other)
	tokens := []string{in.first.grant(t, one), in.first.grant(t, two)}
	otherToken := in.first.grant(t, otherKey)
	in.first.authenticate(t, tokens[0])
	before := len(in.revocations(t))

	for range 2 {
		got, err := in.first.store.DisablePrincipal(t.Context(), in.ada, tenant.ID, p.ID)
		if err != nil || !got.DisabledAt.Equal(in.clock.Now()) {
			t.Fatalf("disable = %+v, %v", got, err)
		}
	}
	if got := in.revocations(t)[before:]; len(got) != 1 || got[0].Kind != "principal" || got[0].Subject != p.ID {
		t.Errorf("revocations = %v, want one of the principal", got)
	}
	must(t, in.first.tokens.Poll(t.Context()))
	for _, token := range tokens {
		_, err := in.first.tokens.Authenticate(t.Context(), token)
		wantCode(t, err, domain.KindUnauthenticated, "token_revoked")
	}
	in.first.authenticate(t, otherToken)
	for _, key := range []string{one, two} {
		wantGrantError(t, in.first, request(key), tenancy.GrantInvalidClient)
	}
	_, _, _, err := in.first.store.CreateKey(t.Context(), in.ada, tenant.ID, tenancy.NewKey{Principal: p.ID})
	wantCode(t, err, domain.KindConflict, "principal_disabled")
	_, err = in.first.store.DisablePrincipal(t.Context(), in.ada, tenant.ID, domain.PrincipalID{1})
	wantCode(t, err, domain.KindNotFound, "principal_not_found")
}
