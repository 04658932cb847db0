package tenancy

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

const testIssuer = "https://holdfast.example"

var testNow = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func testHolder(tenant domain.TenantID) holder {
	return holder{
		scope: Scope{
			Tenant: tenant, Principal: domain.PrincipalID{2}, Key: domain.KeyID{3}, Name: "backend",
			Scopes: []string{IdentityRead, IdentityWrite},
		},
		expires: testNow.Add(tokenLifetime),
	}
}

func testRing() (keyring, *signingKey) {
	ring := keyring{keys: []signingKey{newSigningKey(testNow, rotateEvery)}, rotateEvery: rotateEvery}
	return ring, ring.signer(testNow)
}

func TestVerify_GivesWhatWasSigned(t *testing.T) {
	t.Parallel()
	ring, key := testRing()
	for _, want := range []holder{testHolder(domain.TenantID{1}), testHolder(Operators)} {
		token, err := sign(key, testIssuer, want, testNow)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ring.verify(token, testIssuer, testNow.Add(tokenLifetime-time.Second))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(holder{})); diff != "" || err != nil {
			t.Errorf("verify: %v (-want +got)\n%s", err, diff)
		}
	}
}

// forge signs what sign never would: with a header and claims of its own. A nil
// value takes one away.
func forge(t *testing.T, key ed25519.PrivateKey, header, claims map[string]any) string {
	t.Helper()
	return signingInput(t, header, claims, func(input string) []byte { return ed25519.Sign(key, []byte(input)) })
}

func signingInput(t *testing.T, header, claims map[string]any, mac func(string) []byte) string {
	t.Helper()
	encode := func(part map[string]any) string {
		maps.DeleteFunc(part, func(_ string, v any) bool { return v == nil })
		text, err := json.Marshal(part)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	input := encode(header) + "." + encode(claims)
	return input + "." + base64.RawURLEncoding.EncodeToString(mac(input))
}

func with(base, changes map[string]any) map[string]any {
	all := maps.Clone(base)
	maps.Copy(all, changes)
	return all
}

func TestVerify_RefusesEveryOtherToken(t *testing.T) {
	t.Parallel()
	ring, key := testRing()
	_, stranger := testRing()
	header := map[string]any{"alg": "EdDSA", "typ": "at+jwt", "kid": key.id}
	claims := map[string]any{
		"iss": testIssuer, "aud": "holdfast", "sub": domain.PrincipalID{2}.String(), "tid": domain.TenantID{1}.String(),
		"client_id": clientID(domain.KeyID{3}), "name": "backend", "scope": "identity:read",
		"iat": testNow.Unix(), "exp": testNow.Add(tokenLifetime).Unix(),
	}
	type changes = map[string]any
	good := forge(t, key.private, with(header, nil), with(claims, nil))
	if _, err := ring.verify(good, testIssuer, testNow); err != nil {
		t.Fatalf("the forger's own good token: %v", err)
	}

	hmacWith := func(secret []byte) func(string) []byte {
		return func(input string) []byte {
			mac := hmac.New(sha256.New, secret)
			mac.Write([]byte(input))
			return mac.Sum(nil)
		}
	}
	none := func(string) []byte { return nil }
	parts := strings.Split(good, ".")
	otherClaims := strings.Split(forge(t, key.private, with(header, nil), with(claims, changes{"scope": "operator:tenants"})), ".")[1]

	tokens := map[string]string{
		"empty":                 "",
		"not a JWT":             "hf_secret",
		"no signature":          parts[0] + "." + parts[1] + ".",
		"another's claims":      parts[0] + "." + otherClaims + "." + parts[2],
		"trailing bits":         good[:len(good)-1] + string(good[len(good)-1]+1),
		"padded":                good + "==",
		"too long":              forge(t, key.private, with(header, nil), with(claims, changes{"name": strings.Repeat("a", maxToken)})),
		"alg none":              signingInput(t, with(header, changes{"alg": "none"}), with(claims, nil), none),
		"alg None":              signingInput(t, with(header, changes{"alg": "None"}), with(claims, nil), none),
		"HS256 with the public": signingInput(t, with(header, changes{"alg": "HS256"}), with(claims, nil), hmacWith(key.public)),
		"EdDSA with an HMAC":    signingInput(t, with(header, nil), with(claims, nil), hmacWith(key.public)),
		"a stranger's key":      forge(t, stranger.private, with(header, nil), with(claims, nil)),
		"a stranger's kid":      forge(t, stranger.private, with(header, changes{"kid": stranger.id}), with(claims, nil)),
	}
	for name, c := range map[string]changes{
		"alg missing": {"alg": nil}, "kid missing": {"kid": nil}, "kid a number": {"kid": 1}, "kid empty": {"kid": ""},
		"typ missing": {"typ": nil}, "typ JWT": {"typ": "JWT"}, // an id token, say
	} {
		tokens[name] = forge(t, key.private, with(header, c), with(claims, nil))
	}
	for name, c := range map[string]changes{
		"exp missing": {"exp": nil}, "exp a text": {"exp": "tomorrow"}, "iat to come": {"iat": testNow.Add(time.Minute).Unix()},
		"nbf to come": {"nbf": testNow.Add(time.Minute).Unix()},
		"iss missing": {"iss": nil}, "iss another": {"iss": testIssuer + "/"},
		"aud missing": {"aud": nil}, "aud another": {"aud": "holdfast-admin"}, "aud others": {"aud": []string{"a", "b"}},
		"aud a tenant's application": {"aud": TenantAudience(domain.TenantID{1})},
		"sub missing":                {"sub": nil}, "sub not an id": {"sub": "coordinator"},
		"client missing": {"client_id": nil}, "client not a key": {"client_id": "backend"},
		"client a public one": {"client_id": ClientIDText(domain.ClientID{3})},
		"tid not an id":       {"tid": "acme"}, "tid the operators'": {"tid": Operators.String()}, "tid upper case": {"tid": strings.ToUpper(domain.TenantID{0xab}.String())},
		"expired, for another": {"exp": testNow.Add(-time.Hour).Unix(), "aud": "another"},
	} {
		tokens[name] = forge(t, key.private, with(header, nil), with(claims, c))
	}
	for name, token := range tokens {
		got, err := ring.verify(token, testIssuer, testNow)
		if domain.CodeOf(err) != "token_invalid" || domain.KindOf(err) != domain.KindUnauthenticated || got.scope.Name != "" {
			t.Errorf("%s: %+v, %v; want token_invalid", name, got, err)
		}
	}
}

func TestVerify_ExpiryIsToldOnlyOfAGoodToken(t *testing.T) {
	t.Parallel()
	ring, key := testRing()
	token, err := sign(key, testIssuer, testHolder(domain.TenantID{1}), testNow)
	if err != nil {
		t.Fatal(err)
	}
	late := testNow.Add(tokenLifetime + tokenLeeway)
	if _, err := ring.verify(token, testIssuer, late.Add(-time.Second)); err != nil {
		t.Errorf("within the leeway: %v", err)
	}
	if _, err := ring.verify(token, testIssuer, late); domain.CodeOf(err) != "token_expired" {
		t.Errorf("past it: %v, want token_expired", err)
	}
	tampered := token[:len(token)-4] + "AAAA"
	if _, err := ring.verify(tampered, testIssuer, late); domain.CodeOf(err) != "token_invalid" {
		t.Errorf("expired and tampered with: %v, want token_invalid", err)
	}
}

func TestSign_MakesAnRFC9068Token(t *testing.T) {
	t.Parallel()
	_, key := testRing()
	token, err := sign(key, testIssuer, testHolder(domain.TenantID{1}), testNow)
	if err != nil {
		t.Fatal(err)
	}
	claims := jwt.MapClaims{}
	parsed, _, err := jwt.NewParser().ParseUnverified(token, claims)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"alg": "EdDSA", "typ": "at+jwt", "kid": key.id}, parsed.Header); diff != "" {
		t.Errorf("header (-want +got)\n%s", diff)
	}
	if _, err := domain.ParseID[struct{}](claims["jti"].(string)); err != nil {
		t.Errorf("jti: %v", err)
	}
	delete(claims, "jti")
	want := jwt.MapClaims{
		"iss": testIssuer, "aud": []any{"holdfast"}, "sub": "02000000-0000-0000-0000-000000000000",
		"tid": "01000000-0000-0000-0000-000000000000", "client_id": "hf_03000000000000000000000000000000",
		"name": "backend", "scope": "identity:read identity:write",
		"iat": float64(testNow.Unix()), "exp": float64(testNow.Unix() + 900),
	}
	if diff := cmp.Diff(want, claims); diff != "" {
		t.Errorf("claims (-want +got)\n%s", diff)
	}
}
