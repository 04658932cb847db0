package tenancy_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

var (
	anAccount = domain.AccountID{0xac}
	aDevice   = domain.DeviceID{0xde}
)

func (p process) deviceToken(t testing.TB, c tenancy.Client, scopes ...string) tenancy.AccessToken {
	t.Helper()
	token, err := p.tokens.DeviceToken(tenancy.DeviceGrant{Client: c, Account: anAccount, Device: aDevice, Scopes: scopes})
	must(t, err)
	return token
}

// application is a tenant's own: it knows the issuer, its tenant, and what the
// installation publishes, and reads tokens with a library of its own.
type application struct {
	tenant domain.TenantID
	keys   jose.JSONWebKeySet
}

func applicationOf(t testing.TB, p process, tenant domain.TenantID) application {
	t.Helper()
	set, err := p.tokens.JWKS()
	must(t, err)
	text, err := json.Marshal(set)
	must(t, err)
	a := application{tenant: tenant}
	must(t, json.Unmarshal(text, &a.keys))
	for _, key := range a.keys.Keys {
		if !key.Valid() || !key.IsPublic() {
			t.Errorf("the key %q is no valid public one", key.KeyID)
		}
	}
	return a
}

// verify gives all claims of a token that is for the application.
func (a application) verify(token string, now time.Time) (claims map[string]any, err error) {
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		return nil, err
	}
	var registered jwt.Claims
	if err := parsed.Claims(a.keys, &registered, &claims); err != nil {
		return nil, err
	}
	return claims, registered.ValidateWithLeeway(jwt.Expected{
		Issuer: issuer, AnyAudience: jwt.Audience{"urn:holdfast:tenant:" + a.tenant.String()}, Time: now,
	}, 0)
}

func TestDeviceToken_IsVerifiedByTheTenantsApplicationAndNobodyElses(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant, other := in.tenant(t, "acme"), in.tenant(t, "other")
	app := in.first.calling(t, in.publicClient(t, tenant.ID, "tv", "library:read", "watch"))
	token := in.first.deviceToken(t, app, "library:read", "watch")
	answer := tenancy.AccessToken{Token: token.Token, Type: "Bearer", ExpiresIn: 900, Scope: "library:read watch"}
	if diff := cmp.Diff(answer, token); diff != "" {
		t.Errorf("answer (-want +got)\n%s", diff)
	}
	now := in.clock.Now()
	claims, err := applicationOf(t, in.first, tenant.ID).verify(token.Token, now)
	must(t, err)
	if _, err := domain.ParseID[struct{}](claims["jti"].(string)); err != nil {
		t.Errorf("jti: %v", err)
	}
	again, err := applicationOf(t, in.first, tenant.ID).verify(in.first.deviceToken(t, app).Token, now)
	must(t, err)
	if again["jti"] == claims["jti"] {
		t.Errorf("two tokens have the jti %v", again["jti"])
	}
	if _, scoped := again["scope"]; scoped {
		t.Errorf("a token without scopes has the scope %q", again["scope"])
	}
	delete(claims, "jti")
	want := map[string]any{
		"iss": issuer, "aud": []any{tenancy.TenantAudience(tenant.ID)}, "sub": anAccount.String(), "tid": tenant.ID.String(),
		"client_id": tenancy.ClientIDText(app.ID), "device_id": aDevice.String(), "scope": "library:read watch",
		"iat": float64(now.Unix()), "exp": float64(now.Unix() + 900),
	}
	if diff := cmp.Diff(want, claims); diff != "" {
		t.Errorf("claims (-want +got)\n%s", diff)
	}
	if _, err := applicationOf(t, in.first, other.ID).verify(token.Token, now); err == nil {
		t.Error("another tenant's application accepts it")
	}
	if _, err := applicationOf(t, in.first, tenant.ID).verify(token.Token, now.Add(15*time.Minute+time.Second)); err == nil {
		t.Error("it is accepted after 15 minutes")
	}
	_, _, key := in.client(t, "third")
	if _, err := applicationOf(t, in.first, tenant.ID).verify(in.first.grant(t, key), now); err == nil {
		t.Error("an application accepts a token for Holdfast's API")
	}
}

func TestDeviceToken_IsNoCredentialHere(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	app := in.first.calling(t, in.publicClient(t, in.tenant(t, "acme").ID, "tv", tenancy.IdentityWrite))
	token := in.first.deviceToken(t, app, tenancy.IdentityWrite)
	_, err := in.first.tokens.Authenticate(t.Context(), token.Token)
	wantCode(t, err, domain.KindUnauthenticated, "token_invalid")
}

// A process that is paused between the verification of the client and the sale
// sells what is left of the 15 minutes, and then nothing.
func TestDeviceToken_LivesFromTheVerificationOfItsClient(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant := in.tenant(t, "acme")
	app := in.first.calling(t, in.publicClient(t, tenant.ID, "tv"))
	verified := in.clock.Now()

	in.clock.advance(14 * time.Minute)
	token := in.first.deviceToken(t, app)
	claims, err := applicationOf(t, in.first, tenant.ID).verify(token.Token, in.clock.Now())
	must(t, err)
	if token.ExpiresIn != 60 || claims["exp"] != float64(verified.Add(15*time.Minute).Unix()) || claims["iat"] != float64(verified.Unix()) {
		t.Errorf("a minute before the end it expires in %d s: %v", token.ExpiresIn, claims)
	}
	in.clock.advance(time.Minute)
	_, err = in.first.tokens.DeviceToken(tenancy.DeviceGrant{Client: app, Account: anAccount, Device: aDevice})
	wantCode(t, err, domain.KindUnavailable, "auth_unavailable")
}

func TestDeviceToken_TakesAVerifiedClientAnAccountAndADevice(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	made := in.publicClient(t, in.tenant(t, "acme").ID, "tv")
	verified := in.first.calling(t, made)
	for name, grant := range map[string]tenancy.DeviceGrant{
		"a client that was not verified": {Client: made, Account: anAccount, Device: aDevice},
		"no client":                      {Account: anAccount, Device: aDevice},
		"no account":                     {Client: verified, Device: aDevice},
		"no device":                      {Client: verified, Account: anAccount},
	} {
		if token, err := in.first.tokens.DeviceToken(grant); domain.KindOf(err) != domain.KindInternal || err == nil || token.Token != "" {
			t.Errorf("%s: %v, want an internal error", name, err)
		}
	}
	unready := in.start(t)
	_, err := unready.tokens.DeviceToken(tenancy.DeviceGrant{Client: verified, Account: anAccount, Device: aDevice})
	wantCode(t, err, domain.KindUnavailable, "auth_unavailable")
}

// The key that signed a token is published for as long as the token lives,
// whenever the next key takes over.
func TestDeviceToken_OutlivesTheRotationOfItsKey(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant := in.tenant(t, "acme")
	made := in.publicClient(t, tenant.ID, "tv")
	in.clock.advance(30 * day)
	must(t, in.first.tokens.Poll(t.Context())) // makes the next key, which signs in 15 minutes
	in.clock.advance(15*time.Minute - time.Second)
	must(t, in.first.tokens.Poll(t.Context()))
	token := in.first.deviceToken(t, in.first.calling(t, made)).Token

	in.clock.advance(15*time.Minute - time.Second)
	must(t, in.first.tokens.Poll(t.Context()))
	if next := in.first.deviceToken(t, in.first.calling(t, made)).Token; signedBy(t, next) == signedBy(t, token) {
		t.Fatal("no other key signs yet: the test proves nothing")
	}
	_, err := applicationOf(t, in.first, tenant.ID).verify(token, in.clock.Now())
	must(t, err)
}
