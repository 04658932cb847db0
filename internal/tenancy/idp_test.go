package tenancy_test

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// idp is an issuer outside of Holdfast, on an https server of the test's own.
type idp struct {
	server  *httptest.Server
	fetches atomic.Int64

	mu     sync.Mutex
	set    string           // what it publishes
	handle http.HandlerFunc // instead, where it isn't nil
	key    crypto.Signer
	kid    string
}

func newIDP(t *testing.T) *idp {
	t.Helper()
	p := &idp{}
	p.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.fetches.Add(1)
		p.mu.Lock()
		set, handle := p.set, p.handle
		p.mu.Unlock()
		if handle != nil {
			handle(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(set))
	}))
	t.Cleanup(p.server.Close)
	p.rotate("k1")
	return p
}

// rotate has it sign with another key, and publish no other.
func (p *idp) rotate(kid string) {
	public, private, _ := ed25519.GenerateKey(rand.Reader)
	p.publish(`{"keys":[`+okp(kid, public)+`]}`, nil)
	p.key, p.kid = private, kid
}

func okp(kid string, public ed25519.PublicKey) string {
	return `{"kty":"OKP","crv":"Ed25519","use":"sig","kid":"` + kid + `","x":"` + base64.RawURLEncoding.EncodeToString(public) + `"}`
}

func (p *idp) publish(set string, handle http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set, p.handle = set, handle
}

// token is one that is good at a time, changed by the test.
func (p *idp) token(t testing.TB, now time.Time, change func(claims jwt.MapClaims, header map[string]any)) string {
	t.Helper()
	claims := jwt.MapClaims{
		"iss": p.server.URL, "sub": "alice", "aud": "holdfast-api", "scope": "record:read identity:read lease:hold",
		"iat": now.Unix(), "exp": now.Add(10 * time.Minute).Unix(),
	}
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
	token.Header["kid"] = p.kid
	if change != nil {
		change(claims, token.Header)
	}
	signed, err := token.SignedString(p.key)
	must(t, err)
	return signed
}

// startTrusting makes another process, which fetches from the test's own servers.
func (in *installation) startTrusting(t *testing.T, p *idp) process {
	t.Helper()
	return in.startFetching(t, tenancy.FetchSettings{Allowed: func(netip.Addr) bool { return true }, Roots: p.server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs})
}

func (in *installation) startFetching(t *testing.T, fetch tenancy.FetchSettings) process {
	t.Helper()
	router := in.databases.Router(t, postgres.RoleAPI)
	keys, err := tenancy.NewServerKeys(serverKey("k1"))
	must(t, err)
	store := tenancy.NewStore(router.Control(), tenancy.NewGates(router), keys, in.clock.Now)
	tokens, err := tenancy.NewTokens(store, tenancy.TokenSettings{Issuer: issuer, Fetch: fetch}, slog.New(slog.DiscardHandler))
	must(t, err)
	must(t, tokens.Poll(t.Context()))
	return process{router, store, tokens}
}

// trust has a tenant trust the issuer, for some scopes.
func (in *installation) trust(t *testing.T, tenant domain.TenantID, p *idp, scopes ...string) tenancy.Issuer {
	t.Helper()
	i, _, err := in.first.store.CreateIssuer(t.Context(), in.ada, tenant, tenancy.NewIssuer{
		URL: p.server.URL, JWKSURI: p.server.URL + "/jwks.json", Audience: "holdfast-api", Scopes: scopes,
	})
	must(t, err)
	return i
}

func (p process) code(ctx context.Context, token string) string {
	_, err := p.tokens.Authenticate(ctx, token)
	return domain.CodeOf(err)
}
