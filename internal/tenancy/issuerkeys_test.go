package tenancy_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// A new key is known as soon as a token names it, and no token makes this process ask
// more often than each ten seconds.
func TestKeys_ARotationIsSeenAndUnknownKeysAreNoFlood(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	p := newIDP(t)
	in.trust(t, in.tenant(t, "acme").ID, p, tenancy.RecordRead)
	process := in.startTrusting(t, p)
	must(t, func() error {
		_, err := process.tokens.Authenticate(t.Context(), p.token(t, in.clock.Now(), nil))
		return err
	}())

	p.rotate("k2")
	for range 20 { // too soon after the first fetch
		if code := process.code(t.Context(), p.token(t, in.clock.Now(), nil)); code != "token_invalid" {
			t.Fatal(code)
		}
	}
	if n := p.fetches.Load(); n != 1 {
		t.Errorf("%d fetches", n)
	}
	in.clock.advance(10 * time.Second)
	if code := process.code(t.Context(), p.token(t, in.clock.Now(), nil)); code != "" {
		t.Errorf("ten seconds later: %q", code)
	}
	in.clock.advance(10 * time.Second)
	unknown := func(_ jwt.MapClaims, header map[string]any) { header["kid"] = "unknown" }
	_, errs := parallel(t.Context(), 50, func(ctx context.Context, _ int) (tenancy.Scope, error) {
		return process.tokens.Authenticate(ctx, p.token(t, in.clock.Now(), unknown))
	})
	for _, err := range errs {
		if err == nil {
			t.Error("an unknown key is accepted")
		}
	}
	if n := p.fetches.Load(); n != 3 {
		t.Errorf("%d fetches for fifty at once, want one more than 2", n)
	}
}

// While the issuer is down its keys are used on for an hour, and no longer.
func TestKeys_AreKeptForAnHourWhileTheIssuerIsDown(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	p := newIDP(t)
	in.trust(t, in.tenant(t, "acme").ID, p, tenancy.RecordRead)
	process := in.startTrusting(t, p)
	must(t, func() error {
		_, err := process.tokens.Authenticate(t.Context(), p.token(t, in.clock.Now(), nil))
		return err
	}())
	p.publish("", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })

	in.clock.advance(59 * time.Minute)
	must(t, process.tokens.Poll(t.Context()))
	if code := process.code(t.Context(), p.token(t, in.clock.Now(), nil)); code != "" {
		t.Errorf("within the hour: %q", code)
	}
	in.clock.advance(2 * time.Minute)
	must(t, process.tokens.Poll(t.Context()))
	if code := process.code(t.Context(), p.token(t, in.clock.Now(), nil)); code != "issuer_unavailable" {
		t.Errorf("behind it: %q", code)
	}
}

// What isn't a key set of a trusted size over a trusted way is as good as none.
func TestKeys_NothingElseIsTakenForThem(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	p := newIDP(t)
	in.trust(t, in.tenant(t, "acme").ID, p, tenancy.RecordRead)
	set := p.set
	elsewhere := newIDP(t)
	elsewhere.publish(set, nil)
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	answer := func(media, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			_, _ = io.WriteString(w, text)
		}
	}
	for name, handle := range map[string]http.HandlerFunc{
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.server.URL, http.StatusFound)
		},
		"a failure": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"a huge body": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, set[:len(set)-1]+strings.Repeat(" ", 300<<10)+"}")
		},
		"huge headers": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Much", strings.Repeat("x", 64<<10))
			answer("application/json", set)(w, nil)
		},
		"a page":       answer("text/html", set),
		"no JSON":      answer("application/json", "<html>"),
		"another JSON": answer("application/json", `["keys"]`),
		"too many": answer("application/json", func() string {
			one := strings.TrimSuffix(strings.TrimPrefix(set, `{"keys":[`), "]}")
			return `{"keys":[` + one + strings.Repeat(`,{"kty":"OKP","kid":"x"}`, 200) + "]}"
		}()),
		"the key twice":        answer("application/json", strings.Replace(set, "]}", ","+okp("k1", make(ed25519.PublicKey, 32))+"]}", 1)),
		"for encryption":       answer("application/json", strings.Replace(set, `"sig"`, `"enc"`, 1)),
		"without an id":        answer("application/json", strings.Replace(set, `"kid":"k1",`, "", 1)),
		"of another algorithm": answer("application/json", strings.Replace(set, `"kid"`, `"alg":"RS256","kid"`, 1)),
		"a secret":             answer("application/json", `{"keys":[{"kty":"oct","kid":"k1","k":"AAAA"}]}`),
		"a slow body": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, set[:10])
			w.(http.Flusher).Flush()
			select {
			case <-stop:
			case <-r.Context().Done():
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p.publish("", handle)
			process := in.startTrusting(t, p)
			if code := process.code(t.Context(), p.token(t, in.clock.Now(), nil)); code != "issuer_unavailable" && code != "token_invalid" {
				t.Errorf("%q", code)
			}
		})
	}
	if n := elsewhere.fetches.Load(); n != 0 {
		t.Errorf("the redirect was followed %d times", n)
	}
	p.publish(set, nil)
	if code := in.startTrusting(t, p).code(t.Context(), p.token(t, in.clock.Now(), nil)); code != "" {
		t.Errorf("the set itself: %q", code)
	}
}

// Each asymmetric method works with a key that is long enough.
func TestKeys_OfEachKind(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	p := newIDP(t)
	in.trust(t, in.tenant(t, "acme").ID, p, tenancy.RecordRead)
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	must(t, err)
	long, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	b64 := base64.RawURLEncoding.EncodeToString
	rsaKey := func(kid string, key *rsa.PrivateKey) map[string]string {
		return map[string]string{"kty": "RSA", "kid": kid, "n": b64(key.N.Bytes()), "e": b64(big.NewInt(int64(key.E)).Bytes())}
	}
	point, err := curve.PublicKey.Bytes()
	must(t, err)
	set, err := json.Marshal(map[string]any{"keys": []any{
		rsaKey("short", short), rsaKey("long", long),
		map[string]string{"kty": "EC", "crv": "P-256", "kid": "curve", "x": b64(point[1:33]), "y": b64(point[33:])},
		map[string]string{"kty": "unheard-of", "kid": "strange"},
	}})
	must(t, err)
	p.publish(string(set), nil)
	process := in.startTrusting(t, p)
	for _, c := range []struct {
		kid    string
		method jwt.SigningMethod
		key    any
		code   string
	}{
		{"long", jwt.SigningMethodRS256, long, ""}, {"long", jwt.SigningMethodPS512, long, ""}, {"curve", jwt.SigningMethodES256, curve, ""},
		{"short", jwt.SigningMethodRS256, short, "token_invalid"}, {"long", jwt.SigningMethodRS256, short, "token_invalid"},
	} {
		claims := jwt.MapClaims{"iss": p.server.URL, "sub": "x", "aud": "holdfast-api", "iat": in.clock.Now().Unix(), "exp": in.clock.Now().Add(time.Minute).Unix()}
		token := jwt.NewWithClaims(c.method, claims)
		token.Header["kid"] = c.kid
		signed, err := token.SignedString(c.key)
		must(t, err)
		if code := process.code(t.Context(), signed); code != c.code {
			t.Errorf("%s with %s: %q, want %q", c.method.Alg(), c.kid, code, c.code)
		}
	}
}

// An issuer's host that is, or becomes, an address inside is never connected to.
func TestKeys_AreNeverFetchedFromInside(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	p := newIDP(t)
	in.trust(t, in.tenant(t, "acme").ID, p, tenancy.RecordRead) // at 127.0.0.1
	process := in.startFetching(t, tenancy.FetchSettings{Roots: p.server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs})
	if code := process.code(t.Context(), p.token(t, in.clock.Now(), nil)); code != "issuer_unavailable" {
		t.Errorf("an address: %q", code)
	}

	// A name that was public when somebody looked, and is this machine when the socket
	// is connected.
	_, port, err := net.SplitHostPort(p.server.Listener.Addr().String())
	must(t, err)
	renamed := "https://example.com:" + port
	_, _, err = in.first.store.CreateIssuer(t.Context(), in.ada, in.tenant(t, "other").ID, tenancy.NewIssuer{
		URL: renamed, JWKSURI: renamed, Audience: "holdfast-api", Scopes: []string{tenancy.RecordRead},
	})
	must(t, err)
	for name, answers := range map[string][]netip.Addr{
		"at once":        {netip.MustParseAddr("127.0.0.1")},
		"among others":   {netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")},
		"in IPv6":        {netip.MustParseAddr("::ffff:127.0.0.1")},
		"the metadata":   {netip.MustParseAddr("169.254.169.254")},
		"a private name": {netip.MustParseAddr("10.0.0.1")},
	} {
		process := in.startFetching(t, tenancy.FetchSettings{
			Roots: p.server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, Resolver: resolver(t, answers),
		})
		before := p.fetches.Load()
		token := p.token(t, in.clock.Now(), func(c jwt.MapClaims, _ map[string]any) { c["iss"] = renamed })
		if code := process.code(t.Context(), token); code != "issuer_unavailable" || p.fetches.Load() != before {
			t.Errorf("%s: %q, %d fetches", name, code, p.fetches.Load()-before)
		}
	}
	// The name works where the address may be connected to: the test's server is it.
	allowed := in.startFetching(t, tenancy.FetchSettings{
		Allowed: func(a netip.Addr) bool { return a.IsLoopback() }, Resolver: resolver(t, []netip.Addr{netip.MustParseAddr("127.0.0.1")}),
		Roots: p.server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs,
	})
	if code := allowed.code(t.Context(), p.token(t, in.clock.Now(), func(c jwt.MapClaims, _ map[string]any) { c["iss"] = renamed })); code != "" {
		t.Errorf("where it may: %q", code)
	}
}

// resolver answers every name with these addresses.
func resolver(t *testing.T, answers []netip.Addr) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		buffer := make([]byte, 1024)
		for {
			n, from, err := server.ReadFrom(buffer)
			if err != nil {
				return
			}
			if reply, err := answer(buffer[:n], answers); err == nil {
				_, _ = server.WriteTo(reply, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

func answer(query []byte, addresses []netip.Addr) ([]byte, error) {
	var message dnsmessage.Message
	if err := message.Unpack(query); err != nil {
		return nil, err
	}
	if len(message.Questions) != 1 {
		return nil, fmt.Errorf("%d questions", len(message.Questions))
	}
	question := message.Questions[0]
	message.Response, message.Authoritative, message.Additionals = true, true, nil
	header := dnsmessage.ResourceHeader{Name: question.Name, Class: question.Class, TTL: 0}
	for _, address := range addresses {
		switch {
		case address.Is4() && question.Type == dnsmessage.TypeA:
			message.Answers = append(message.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: address.As4()}})
		case address.Is6() && question.Type == dnsmessage.TypeAAAA:
			message.Answers = append(message.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: address.As16()}})
		}
	}
	return message.Pack()
}

func TestPublicAddress(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "2a00:1450:4001:81b::200e"} {
		if !tenancy.PublicAddress(netip.MustParseAddr(text)) {
			t.Errorf("%s is public", text)
		}
	}
	for _, text := range []string{
		"127.0.0.1", "127.255.0.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.0.1", "169.254.169.254", "100.64.0.1", "100.127.255.255",
		"192.0.0.8", "192.0.2.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::1", "::", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::7f00:1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2001::1",
		"2001:db8::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "100::1", "3fff::1", "5f00::1", "4000::1",
	} {
		if tenancy.PublicAddress(netip.MustParseAddr(text)) {
			t.Errorf("%s is not public", text)
		}
	}
}
