package tenancy_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"slices"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func TestExternal_IsWhoTheIssuerSaysWithinWhatItMayGrant(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	p := newIDP(t)
	tenant := in.tenant(t, "acme")
	trusted := in.trust(t, tenant.ID, p, tenancy.RecordRead, tenancy.RecordWrite, tenancy.LeaseHold)
	process := in.startTrusting(t, p)

	token := p.token(t, in.clock.Now(), nil)
	got, err := process.tokens.Authenticate(t.Context(), token)
	must(t, err)
	if got.Principal.IsZero() || len(got.Settings.IDKey) != 32 {
		t.Errorf("%+v", got)
	}
	got.Principal, got.Settings = domain.PrincipalID{}, tenancy.Settings{}
	want := tenancy.Scope{
		Tenant: tenant.ID, Name: p.server.URL + "#alice", Scopes: []string{tenancy.LeaseHold, tenancy.RecordRead},
		External: tenancy.External{Issuer: p.server.URL, Subject: "alice", Trust: trusted.ID}, Expires: in.clock.Now().Add(10 * time.Minute),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the caller (-want +got):\n%s", diff)
	}
	// As an array, and under the other name; the whole of it is beyond the cap.
	for claim, value := range map[string]any{"scp": []string{"record:write", "operator:tenants"}, "scope": "record:write operator:read operator:approve"} {
		got, err := process.tokens.Authenticate(t.Context(), p.token(t, in.clock.Now(), func(c jwt.MapClaims, _ map[string]any) {
			delete(c, "scope")
			c[claim] = value
		}))
		must(t, err)
		if diff := cmp.Diff([]string{tenancy.RecordWrite}, got.Scopes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", claim, diff)
		}
	}
	if n := p.fetches.Load(); n != 1 {
		t.Errorf("its keys were fetched %d times", n)
	}
}

// L22: a subject says nothing outside of its issuer. It is never a principal of
// Holdfast's, the coordinator, or another issuer's subject of the same name; and it
// stays the same when keys and tokens change.
func TestExternal_APrincipalIsAnIssuerAndASubject(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	first, second := newIDP(t), newIDP(t)
	tenant, other := in.tenant(t, "acme"), in.tenant(t, "other")
	own := in.principal(t, tenant.ID, "backend", tenancy.RecordRead)
	in.trust(t, tenant.ID, first, tenancy.RecordRead)
	in.trust(t, tenant.ID, second, tenancy.RecordRead)
	as := func(p *idp, subject string) tenancy.Scope {
		got, err := in.startTrusting(t, p).tokens.Authenticate(t.Context(), p.token(t, in.clock.Now(), func(c jwt.MapClaims, _ map[string]any) { c["sub"] = subject }))
		must(t, err)
		return got
	}
	seen := map[domain.PrincipalID]string{own.ID: "own"}
	for _, subject := range []string{"alice", "coordinator", own.ID.String(), "holdfast", "alice#", "backend"} {
		for who, p := range map[string]*idp{"first ": first, "second ": second} {
			id := as(p, subject).Principal
			if before, twice := seen[id]; twice || id.IsZero() {
				t.Errorf("%s%s is %s", who, subject, before)
			}
			seen[id] = who + subject
		}
	}
	before := as(first, "alice")
	first.rotate("k2")
	if after := as(first, "alice"); after.Principal != before.Principal {
		t.Error("another key makes another principal")
	}
	// Under another tenant it is another one.
	_, err := in.first.store.DisableIssuer(t.Context(), in.ada, tenant.ID, before.External.Trust)
	must(t, err)
	in.trust(t, other.ID, first, tenancy.RecordRead)
	if moved := as(first, "alice"); moved.Tenant != other.ID || moved.Principal == before.Principal {
		t.Errorf("%+v", moved)
	}
}

// A token that isn't to the letter what the tenant trusts is refused, each for itself.
func TestExternal_WhatIsNotTrustedIsRefused(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	p, stranger := newIDP(t), newIDP(t)
	in.trust(t, in.tenant(t, "acme").ID, p, tenancy.TenantScopes()...)
	process := in.startTrusting(t, p)
	now := in.clock.Now()
	claim := func(name string, value any) func(jwt.MapClaims, map[string]any) {
		return func(c jwt.MapClaims, _ map[string]any) {
			if c[name] = value; value == nil {
				delete(c, name)
			}
		}
	}
	header := func(name string, value any) func(jwt.MapClaims, map[string]any) {
		return func(_ jwt.MapClaims, h map[string]any) {
			if h[name] = value; value == nil {
				delete(h, name)
			}
		}
	}
	if code := process.code(t.Context(), p.token(t, now, nil)); code != "" {
		t.Fatal(code)
	}
	for name, change := range map[string]func(jwt.MapClaims, map[string]any){
		"another audience":       claim("aud", "holdfast"),
		"no audience":            claim("aud", nil),
		"another issuer":         claim("iss", "https://accounts.example"),
		"a stranger's issuer":    claim("iss", stranger.server.URL),
		"the issuer and a slash": claim("iss", p.server.URL+"/"),
		"no issuer":              claim("iss", nil),
		"this API as its issuer": claim("iss", issuer),
		"no expiry":              claim("exp", nil),
		"a life too long":        claim("exp", now.Add(time.Hour+time.Second).Unix()),
		"no time of issue":       claim("iat", nil),
		"issued in the future":   claim("iat", now.Add(time.Minute).Unix()),
		"not yet valid":          claim("nbf", now.Add(time.Minute).Unix()),
		"no subject":             claim("sub", nil),
		"an empty subject":       claim("sub", ""),
		"a subject with a NUL":   claim("sub", "a\x00b"),
		"a subject too long":     claim("sub", string(make([]byte, 300))),
		"no key":                 header("kid", nil),
		"a key that is a number": header("kid", 1),
		"an unknown key":         header("kid", "k9"),
		"a demanded extension":   header("crit", []string{"b64"}),
	} {
		if code := process.code(t.Context(), p.token(t, now, change)); code != "token_invalid" {
			t.Errorf("%s: %q", name, code)
		}
	}
	if code := process.code(t.Context(), p.token(t, now.Add(-time.Hour), nil)); code != "token_expired" {
		t.Errorf("an old one: %q", code)
	}
	if n := stranger.fetches.Load(); n != 0 {
		t.Errorf("an issuer that nobody trusts was asked %d times", n)
	}
}

// A token brings no key along, and picks no method that a public key could be the
// secret of.
func TestExternal_ATokenBringsNoKeyAlong(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	p := newIDP(t)
	in.trust(t, in.tenant(t, "acme").ID, p, tenancy.RecordRead)
	process := in.startTrusting(t, p)
	now := in.clock.Now()
	must(t, func() error { _, err := process.tokens.Authenticate(t.Context(), p.token(t, now, nil)); return err }())
	claims := jwt.MapClaims{"iss": p.server.URL, "sub": "eve", "aud": "holdfast-api", "iat": now.Unix(), "exp": now.Add(time.Minute).Unix()}
	public := p.key.Public().(ed25519.PublicKey)
	_, evil, _ := ed25519.GenerateKey(rand.Reader)
	evilSet := newIDP(t)
	evilSet.publish(`{"keys":[`+okp("k1", evil.Public().(ed25519.PublicKey))+`]}`, nil)

	sign := func(method jwt.SigningMethod, key any, extra map[string]any) string {
		token := jwt.NewWithClaims(method, claims)
		token.Header["kid"] = "k1"
		for name, value := range extra {
			token.Header[name] = value
		}
		signed, err := token.SignedString(key)
		must(t, err)
		return signed
	}
	for name, token := range map[string]string{
		"none":                       sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil),
		"HS256 with the public key":  sign(jwt.SigningMethodHS256, []byte(public), nil),
		"HS256 with the key set":     sign(jwt.SigningMethodHS256, []byte(p.set), nil),
		"another's signature":        sign(jwt.SigningMethodEdDSA, evil, nil),
		"jku":                        sign(jwt.SigningMethodEdDSA, evil, map[string]any{"jku": evilSet.server.URL}),
		"x5u":                        sign(jwt.SigningMethodEdDSA, evil, map[string]any{"x5u": evilSet.server.URL}),
		"jwk":                        sign(jwt.SigningMethodEdDSA, evil, map[string]any{"jwk": map[string]string{"kty": "OKP", "crv": "Ed25519", "x": "AA"}}),
		"a signature that was taken": func() string { good := p.token(t, now, nil); return good[:len(good)-4] + "AAAA" }(),
	} {
		if code := process.code(t.Context(), token); code != "token_invalid" {
			t.Errorf("%s: %q", name, code)
		}
	}
	if n := evilSet.fetches.Load(); n != 0 {
		t.Errorf("the token's own key set was fetched %d times", n)
	}
}

// One issuer has one tenant at a time, and who asks for another's learns no more than
// that.
func TestCreateIssuer_OneTenantTrustsAnIssuer(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	first, second := in.tenant(t, "first"), in.tenant(t, "second")
	want := tenancy.NewIssuer{
		URL: "https://id.example/realms/a", JWKSURI: "https://id.example/realms/a/certs", Audience: "api",
		Scopes: []string{tenancy.RecordRead}, IdempotencyKey: "k",
	}
	create := func(tenant domain.TenantID, want tenancy.NewIssuer) (tenancy.Issuer, bool, error) {
		return in.first.store.CreateIssuer(t.Context(), in.ada, tenant, want)
	}
	made, again, err := create(first.ID, want)
	must(t, err)
	if again || made.MaxLifetime != time.Hour {
		t.Errorf("%+v, replayed %v", made, again)
	}
	if same, again, err := create(first.ID, want); err != nil || !again || same.ID != made.ID {
		t.Errorf("a retry: %+v %v %v", same, again, err)
	}
	changed := want
	changed.Audience = "other"
	_, _, err = create(first.ID, changed)
	wantCode(t, err, domain.KindInvalid, "idempotency_key_reused")
	changed.IdempotencyKey = ""
	for _, tenant := range []domain.TenantID{first.ID, second.ID} {
		_, _, err = create(tenant, changed)
		wantCode(t, err, domain.KindConflict, "issuer_taken")
	}
	list, more, err := in.first.store.Issuers(t.Context(), in.ada, second.ID, tenancy.List[tenancy.IssuerID]{Limit: 10})
	if err != nil || more || len(list) != 0 {
		t.Errorf("the second tenant's: %v %v %v", list, more, err)
	}
	_, err = in.first.store.DisableIssuer(t.Context(), in.ada, second.ID, made.ID)
	wantCode(t, err, domain.KindNotFound, "issuer_not_found")
	for range 2 {
		_, err = in.first.store.DisableIssuer(t.Context(), in.ada, first.ID, made.ID)
		must(t, err)
	}
	if _, _, err := create(second.ID, changed); err != nil {
		t.Errorf("of one that nobody trusts any more: %v", err)
	}
}

func TestCreateIssuer_RefusesWhatCannotBeTrusted(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant := in.tenant(t, "acme")
	for code, changes := range map[string][]func(*tenancy.NewIssuer){
		"issuer_invalid": {
			func(i *tenancy.NewIssuer) { i.URL = "http://id.example" }, func(i *tenancy.NewIssuer) { i.URL = "id.example" },
			func(i *tenancy.NewIssuer) { i.URL = "" }, func(i *tenancy.NewIssuer) { i.URL = "https://user@id.example" },
			func(i *tenancy.NewIssuer) { i.URL = "https://id.example#x" }, func(i *tenancy.NewIssuer) { i.URL = "https://id.example?x" },
		},
		"jwks_uri_invalid": {
			func(i *tenancy.NewIssuer) { i.JWKSURI = "http://id.example/certs" }, func(i *tenancy.NewIssuer) { i.JWKSURI = "file:///etc/passwd" },
			func(i *tenancy.NewIssuer) { i.JWKSURI = "https:///certs" },
		},
		"audience_invalid": {func(i *tenancy.NewIssuer) { i.Audience = "" }, func(i *tenancy.NewIssuer) { i.Audience = "a b" }},
		"scopes_missing":   {func(i *tenancy.NewIssuer) { i.Scopes = nil }},
		"scope_not_grantable": {
			func(i *tenancy.NewIssuer) { i.Scopes = []string{tenancy.OperatorRead} }, func(i *tenancy.NewIssuer) { i.Scopes = []string{tenancy.RecordRead, "x"} },
		},
		"max_lifetime_invalid": {
			func(i *tenancy.NewIssuer) { i.MaxLifetime = time.Second }, func(i *tenancy.NewIssuer) { i.MaxLifetime = 25 * time.Hour },
			func(i *tenancy.NewIssuer) { i.MaxLifetime = time.Minute + time.Millisecond },
		},
	} {
		for _, change := range changes {
			want := tenancy.NewIssuer{URL: "https://id.example", JWKSURI: "https://id.example/certs", Audience: "api", Scopes: []string{tenancy.RecordRead}}
			change(&want)
			_, _, err := in.first.store.CreateIssuer(t.Context(), in.ada, tenant.ID, want)
			wantCode(t, err, domain.KindInvalid, code)
		}
	}
	_, _, err := in.first.store.CreateIssuer(t.Context(), tenancy.Scope{Tenant: tenant.ID, Scopes: tenancy.TenantScopes()}, tenant.ID, tenancy.NewIssuer{})
	wantCode(t, err, domain.KindForbidden, "insufficient_scope")
}

// A disabled issuer is refused by every process within its poll, also where a token was
// accepted and is remembered; and by one that was away for as long as it may be blind.
func TestDisableIssuer_EndsItsTokensOnEveryProcess(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	p := newIDP(t)
	tenant := in.tenant(t, "acme")
	trusted := in.trust(t, tenant.ID, p, tenancy.RecordRead)
	one, two := in.startTrusting(t, p), in.startTrusting(t, p)
	token := p.token(t, in.clock.Now(), nil)
	scope := two.authenticate(t, token)
	one.authenticate(t, token)

	_, err := one.store.DisableIssuer(t.Context(), in.ada, tenant.ID, trusted.ID)
	must(t, err)
	must(t, one.tokens.Poll(t.Context()))
	must(t, two.tokens.Poll(t.Context()))
	for _, process := range []process{one, two} {
		if code := process.code(t.Context(), token); code != "token_revoked" {
			t.Errorf("a remembered token: %q", code)
		}
		if code := process.code(t.Context(), p.token(t, in.clock.Now(), func(c jwt.MapClaims, _ map[string]any) { c["jti"] = "another" })); code != "token_invalid" {
			t.Errorf("a new token: %q", code)
		}
	}
	wantCode(t, two.tokens.StillValid(scope), domain.KindUnauthenticated, "token_revoked")
	// The token itself would be good for longer than revocations are remembered.
	in.clock.advance(2 * time.Hour)
	must(t, two.tokens.Poll(t.Context()))
	if code := two.code(t.Context(), token); code == "" {
		t.Error("what was revoked is forgotten")
	}
}

// An issuer that is trusted again has its tokens accepted at once, also those that a
// process remembers under the trust that has ended; and for what the new trust grants.
func TestDisableIssuer_TrustedAgain_ARememberedTokenIsJudgedAnew(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	p := newIDP(t)
	tenant := in.tenant(t, "acme")
	first := in.trust(t, tenant.ID, p, tenancy.RecordRead, tenancy.LeaseHold)
	process := in.startTrusting(t, p)
	token := p.token(t, in.clock.Now(), nil)
	before := process.authenticate(t, token)

	_, err := in.first.store.DisableIssuer(t.Context(), in.ada, tenant.ID, first.ID)
	must(t, err)
	second := in.trust(t, tenant.ID, p, tenancy.RecordRead)
	must(t, process.tokens.Poll(t.Context()))
	after := process.authenticate(t, token)
	if after.External.Trust != second.ID || after.Principal != before.Principal || !slices.Equal(after.Scopes, []string{tenancy.RecordRead}) {
		t.Errorf("under the new trust: %+v", after)
	}
	wantCode(t, process.tokens.StillValid(before), domain.KindUnauthenticated, "token_revoked")
	must(t, process.tokens.StillValid(after))

	_, err = in.first.store.DisableIssuer(t.Context(), in.ada, tenant.ID, second.ID)
	must(t, err)
	must(t, process.tokens.Poll(t.Context()))
	for range 2 {
		if code := process.code(t.Context(), token); code != "token_revoked" {
			t.Errorf("when that has ended too: %q", code)
		}
	}
}

// I31, the side of its token: a process that was stopped, and goes on, serves nobody
// before it knows what was revoked meanwhile.
func TestExternal_AStoppedProcessRefusesUntilItKnows(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	p := newIDP(t)
	tenant := in.tenant(t, "acme")
	trusted := in.trust(t, tenant.ID, p, tenancy.RecordRead)
	stopped := in.startTrusting(t, p)
	token := p.token(t, in.clock.Now(), nil)
	stopped.authenticate(t, token)

	_, err := in.first.store.DisableIssuer(t.Context(), in.ada, tenant.ID, trusted.ID)
	must(t, err)
	in.clock.advance(31 * time.Second)
	if code := stopped.code(t.Context(), token); code != "auth_unavailable" {
		t.Errorf("before it knows: %q", code)
	}
	must(t, stopped.tokens.Poll(t.Context()))
	if code := stopped.code(t.Context(), token); code != "token_revoked" {
		t.Errorf("once it knows: %q", code)
	}
}
