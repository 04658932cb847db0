package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// provider is a tenant's own issuer.
type provider struct {
	*httptest.Server
	down atomic.Bool
	key  ed25519.PrivateKey
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{key: private}
	p.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if p.down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/jwk-set+json")
		fmt.Fprintf(w, `{"keys":[{"kty":"OKP","crv":"Ed25519","use":"sig","kid":"k1","x":"%s"}]}`, base64.RawURLEncoding.EncodeToString(public))
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) token(t *testing.T, subject, scope string) string {
	t.Helper()
	now := time.Now()
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
		"iss": p.URL, "sub": subject, "aud": "holdfast-test", "scope": scope, "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(),
	})
	token.Header["kid"] = "k1"
	signed, err := token.SignedString(p.key)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// serveProvider is an API that fetches from the test's own provider.
func (s *stack) serveProvider(t *testing.T, p *provider) *running {
	t.Helper()
	s.fetch = tenancy.FetchSettings{
		Allowed: netip.Addr.IsLoopback,
		Roots:   p.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs,
	}
	return s.serve(t)
}

// trust has a tenant trust the provider for some scopes.
func (s *stack) trust(t *testing.T, r *running, tenant string, p *provider, scopes ...string) {
	t.Helper()
	_, err := s.operator(t, r).CreateIssuerWithResponse(t.Context(), tenant, nil,
		holdfast.NewIssuer{Issuer: p.URL, JwksURI: p.URL, Audience: "holdfast-test", Scopes: scopes})
	if err != nil {
		t.Fatal(err)
	}
}

// ask sends one request with a token, and expects a status and, of a refusal, a code.
func (r *running) ask(t *testing.T, token, method, path, body string, status int, code string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var refused struct{ Code string }
	if response.StatusCode >= 400 {
		if err := json.Unmarshal(text, &refused); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	if response.StatusCode != status || refused.Code != code {
		t.Errorf("%s %s: %d %s, want %d %s", method, path, response.StatusCode, text, status, code)
	}
	return response
}

// A tenant's own tokens reach what their scopes say, within what the tenant trusts
// their issuer with, of that tenant alone, and never an operator's operations.
func TestIssuer_ItsTokensReachWhatTheirScopesSay(t *testing.T) {
	t.Parallel()
	s, p := newStack(t, 1), newProvider(t)
	r := s.serveProvider(t, p)
	acme, other := s.tenant(t, r, "acme").id, s.tenant(t, r, "other").id
	owner, stranger := s.player(t, r, acme, "backend"), s.player(t, r, other, "backend")
	for world, of := range map[string]*player{"ours": owner, "theirs": stranger} {
		if _, err := of.CreateWorldWithResponse(t.Context(), holdfast.NewWorld{WorldID: world}); err != nil {
			t.Fatal(err)
		}
	}
	s.trust(t, r, acme, p, "lease:read", "lease:append")

	reader := p.token(t, "alice", "lease:read lease:hold operator:read")
	const entry = `{"entries":[{"entry_id":"one","json":1}]}`
	r.ask(t, reader, "GET", "/v1/worlds/ours/journal", "", http.StatusOK, "")
	r.ask(t, reader, "GET", "/v1/worlds/theirs/journal", "", http.StatusNotFound, "world_not_found")
	r.ask(t, reader, "POST", "/v1/worlds/ours/journal", entry, http.StatusForbidden, "insufficient_scope")
	r.ask(t, reader, "POST", "/v1/worlds/ours/lease/acquire", `{"request_id":"r"}`, http.StatusForbidden, "insufficient_scope") // beyond the trust
	r.ask(t, reader, "GET", "/v1/tenants", "", http.StatusForbidden, "insufficient_scope")
	r.ask(t, p.token(t, "alice", "lease:append"), "POST", "/v1/worlds/ours/journal", entry, http.StatusCreated, "")

	_, entries := owner.replay(t, "ours")
	if by := entries[len(entries)-1].Actor; by.Issuer != p.URL || by.Subject != "alice" {
		t.Errorf("the journal names %+v", by)
	}
}

// L22: a subject that is spelled as a principal's id isn't that principal, over HTTP
// either: it takes over no lease that the principal's own processes could.
func TestIssuer_ASubjectIsNoPrincipalOfThatName(t *testing.T) {
	t.Parallel()
	s, p := newStack(t, 1), newProvider(t)
	r := s.serveProvider(t, p)
	tenant := s.tenant(t, r, "acme").id
	node := s.player(t, r, tenant, "node")
	if _, err := node.CreateWorldWithResponse(t.Context(), holdfast.NewWorld{WorldID: "north"}); err != nil {
		t.Fatal(err)
	}
	if _, err := node.AcquireLeaseWithResponse(t.Context(), "north", holdfast.LeaseRequest{RequestID: "first"}); err != nil {
		t.Fatal(err)
	}
	s.trust(t, r, tenant, p, "lease:hold")
	const takeover = `{"request_id":"second","takeover":true}`
	for _, subject := range []string{node.id, "node"} {
		r.ask(t, p.token(t, subject, "lease:hold"), "POST", "/v1/worlds/north/lease/acquire", takeover, http.StatusConflict, "lease_held")
	}
	r.ask(t, node.token, "POST", "/v1/worlds/north/lease/acquire", takeover, http.StatusOK, "") // its own can
}

// Whose keys can't be had is told to come again, and isn't told that its token is bad.
func TestIssuer_ThatIsDownIsUnavailable(t *testing.T) {
	t.Parallel()
	s, p := newStack(t, 1), newProvider(t)
	p.down.Store(true)
	r := s.serveProvider(t, p)
	tenant := s.tenant(t, r, "acme").id
	s.trust(t, r, tenant, p, "lease:read")
	response := r.ask(t, p.token(t, "alice", "lease:read"), "GET", "/v1/worlds/north/journal", "", http.StatusServiceUnavailable, "issuer_unavailable")
	if response.Header.Get("Retry-After") == "" {
		t.Error("it isn't told when to come again")
	}
}
