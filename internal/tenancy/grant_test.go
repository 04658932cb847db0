package tenancy_test

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func wantGrantError(t testing.TB, p process, request tenancy.GrantRequest, code string) {
	t.Helper()
	token, err := p.tokens.Grant(t.Context(), request)
	var refused *tenancy.GrantError
	if !errors.As(err, &refused) || refused.Code != code || token.Token != "" {
		t.Errorf("grant = %+v, %v; want %s", token, err, code)
	}
}

func TestGrant_SellsATokenThatSaysWhoCalls(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant, key, text := in.client(t, "acme")
	whole := request(text)
	split := whole
	split.ClientSecret = text[len(whole.ClientID)+1:]
	for _, r := range []tenancy.GrantRequest{whole, split} {
		token, err := in.first.tokens.Grant(t.Context(), r)
		must(t, err)
		want := tenancy.AccessToken{Token: token.Token, Type: "Bearer", ExpiresIn: 900, Scope: "identity:read identity:write"}
		if diff := cmp.Diff(want, token); diff != "" {
			t.Errorf("answer (-want +got)\n%s", diff)
		}
		idKey := rows(t, in.admin, pgx.RowTo[[]byte], `SELECT id_key FROM tenants WHERE tenant_id = $1`, tenant.ID)[0]
		scope := tenancy.Scope{
			Tenant: tenant.ID, Principal: key.Principal, Key: key.ID, Name: "backend",
			Scopes:   []string{tenancy.IdentityRead, tenancy.IdentityWrite},
			Settings: tenancy.Settings{HandlePolicy: "ascii", IDKey: idKey},
			Expires:  in.clock.Now().Add(15 * time.Minute),
		}
		if diff := cmp.Diff(scope, in.first.authenticate(t, token.Token)); diff != "" {
			t.Errorf("scope (-want +got)\n%s", diff)
		}
	}
}

func TestGrant_SellsWhatWasAskedForAndGranted(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	_, _, text := in.client(t, "acme")
	r := request(text)
	r.Scope = "identity:read  identity:read"
	token, err := in.first.tokens.Grant(t.Context(), r)
	must(t, err)
	if scope := in.first.authenticate(t, token.Token); token.Scope != "identity:read" || !cmp.Equal(scope.Scopes, []string{"identity:read"}) {
		t.Errorf("token for %q is %v", token.Scope, scope.Scopes)
	}
	for _, scope := range []string{"lease:read", "identity:read operator:tenants", "identity", " "} {
		r.Scope = scope
		wantGrantError(t, in.first, r, tenancy.GrantInvalidScope)
	}
}

func TestGrant_RefusesInTheWordsOfRFC6749(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	_, _, text := in.client(t, "acme")
	_, _, otherText := in.client(t, "other")
	good, other := request(text), request(otherText)
	change := func(fn func(*tenancy.GrantRequest)) tenancy.GrantRequest {
		r := good
		fn(&r)
		return r
	}
	for code, requests := range map[string][]tenancy.GrantRequest{
		tenancy.GrantInvalidRequest: {change(func(r *tenancy.GrantRequest) { r.GrantType = "" })},
		tenancy.GrantUnsupportedGrantType: {
			change(func(r *tenancy.GrantRequest) { r.GrantType = "password" }),
			change(func(r *tenancy.GrantRequest) { r.GrantType = "Client_Credentials" }),
		},
		tenancy.GrantInvalidClient: {
			change(func(r *tenancy.GrantRequest) { r.ClientID = "" }),
			change(func(r *tenancy.GrantRequest) { r.ClientSecret = "" }),
			change(func(r *tenancy.GrantRequest) { r.ClientSecret = other.ClientSecret }),
			change(func(r *tenancy.GrantRequest) { r.ClientSecret += "A" }),
			change(func(r *tenancy.GrantRequest) { r.ClientSecret = r.ClientSecret[:len(r.ClientSecret)-1] }),
			change(func(r *tenancy.GrantRequest) { r.ClientID = other.ClientID }),
			change(func(r *tenancy.GrantRequest) { r.ClientID = strings.ToUpper(r.ClientID) }),
			change(func(r *tenancy.GrantRequest) { r.ClientID = text }),
			change(func(r *tenancy.GrantRequest) { r.ClientID = "hf_" + strings.Repeat("0", 32) }),
		},
	} {
		for _, r := range requests {
			wantGrantError(t, in.first, r, code)
		}
	}
}

// statements counts what is sent to the database.
type statements struct{ n atomic.Int64 }

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	s.n.Add(1)
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func TestGrant_UnknownKeyAndWrongSecretLookTheSame(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	_, _, text := in.client(t, "acme")
	counted := &statements{}
	settings := in.databases.Settings(postgres.RoleAPI)
	settings.Tracer = counted
	router, err := postgres.Open(t.Context(), settings)
	must(t, err)
	t.Cleanup(router.Close)
	p := in.startOn(t, router, tenancy.NewGates(router))
	must(t, p.tokens.Poll(t.Context()))

	wrong := request(text)
	wrong.ClientSecret = base64.RawURLEncoding.EncodeToString(make([]byte, 32))
	var sent []int64
	var answers []error
	for _, r := range []tenancy.GrantRequest{wrong, request(tenancy.GenerateKey(in.clock.Now())), request(in.adaKey + "x")} {
		before := counted.n.Load()
		_, err := p.tokens.Grant(t.Context(), r)
		sent, answers = append(sent, counted.n.Load()-before), append(answers, err)
	}
	if sent[0] != sent[1] || sent[0] != sent[2] || sent[0] == 0 {
		t.Errorf("statements: %d for a wrong secret, %d for an unknown key, %d for an operator's", sent[0], sent[1], sent[2])
	}
	if answers[0].Error() != answers[1].Error() || answers[0].Error() != answers[2].Error() {
		t.Errorf("answers differ: %v", answers)
	}
}

func TestGrant_NoTokenOutlivesItsKey(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant := in.tenant(t, "acme")
	p := in.principal(t, tenant.ID, "backend", tenancy.IdentityRead)
	_, text, _, err := in.first.store.CreateKey(t.Context(), in.ada, tenant.ID,
		tenancy.NewKey{Principal: p.ID, ExpiresAt: new(in.clock.Now().Add(20 * time.Minute))})
	must(t, err)
	for _, want := range []int{900, 600} {
		token, err := in.first.tokens.Grant(t.Context(), request(text))
		if err != nil || token.ExpiresIn != want {
			t.Errorf("expires in %d s, %v; want %d s", token.ExpiresIn, err, want)
		}
		in.clock.advance(10 * time.Minute)
	}
	wantGrantError(t, in.first, request(text), tenancy.GrantInvalidClient)
}

func TestGrant_APublicClientHasNoCredentials(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant, suspended := in.tenant(t, "acme"), in.tenant(t, "suspended")
	app, disabled := in.publicClient(t, tenant.ID, "tv"), in.publicClient(t, tenant.ID, "phone")
	held := in.publicClient(t, suspended.ID, "tv")
	_, err := in.first.store.DisableClient(t.Context(), in.ada, tenant.ID, disabled.ID)
	must(t, err)
	_, err = in.first.store.SuspendTenant(t.Context(), in.ada, suspended.ID)
	must(t, err)
	for id, code := range map[string]string{
		tenancy.ClientIDText(app.ID):      tenancy.GrantUnauthorizedClient,
		tenancy.ClientIDText(disabled.ID): tenancy.GrantInvalidClient,
		tenancy.ClientIDText(held.ID):     tenancy.GrantTenantSuspended,
		"hfc_" + strings.Repeat("0", 32):  tenancy.GrantInvalidClient,
	} {
		for _, secret := range []string{"", in.adaKey} {
			wantGrantError(t, in.first, tenancy.GrantRequest{GrantType: "client_credentials", ClientID: id, ClientSecret: secret}, code)
		}
	}
	// The token endpoint's other grants are not sold here, to nobody.
	for _, grantType := range []string{tenancy.GrantTypeDeviceCode, tenancy.GrantTypeRefreshToken} {
		r := request(in.adaKey)
		r.GrantType = grantType
		wantGrantError(t, in.first, r, tenancy.GrantUnsupportedGrantType)
	}
}
