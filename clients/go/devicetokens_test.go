package holdfast_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

const (
	testIssuer = "https://holdfast.test"
	testTenant = "01930000-0000-7000-8000-00000000000a"
)

// signer publishes keys and signs with them.
type signer struct {
	mu    sync.Mutex
	keys  map[string]ed25519.PrivateKey
	asked int // for the keys
	down  bool
}

func newSigner(ids ...string) *signer {
	s := &signer{keys: map[string]ed25519.PrivateKey{}}
	for i, id := range ids {
		s.keys[id] = ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune('a'+i)), ed25519.SeedSize)))
	}
	return s
}

func (s *signer) Do(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := httptest.NewRecorder()
	if s.asked++; s.down || r.URL.String() != testIssuer+"/.well-known/jwks.json" {
		refuse(w, http.StatusServiceUnavailable, "auth_unavailable", "1")
		return w.Result(), nil
	}
	set := holdfast.Jwks{Keys: []holdfast.Jwk{{Kty: "EC", Crv: "P-256", Kid: "other", X: "AA"}}}
	for id, key := range s.keys {
		x := base64.RawURLEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
		set.Keys = append(set.Keys, holdfast.Jwk{Kty: "OKP", Crv: "Ed25519", Alg: "EdDSA", Use: "sig", Kid: id, X: x})
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(set)
	return w.Result(), nil
}

// goodClaims are those of a device token that is good for a while.
func goodClaims() map[string]any {
	return map[string]any{
		"iss": testIssuer, "aud": []string{"urn:holdfast:tenant:" + testTenant}, "sub": "an-account",
		"client_id": "hfc_1", "device_id": "a-device", "tid": testTenant, "scope": "play watch", "jti": "one",
		"iat": time.Now().Unix(), "exp": time.Now().Add(15 * time.Minute).Unix(),
	}
}

// token signs the claims with the key of that id, over a header that is a device
// token's with the given changes.
func (s *signer) token(t *testing.T, id string, claims, header map[string]any) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims(claims))
	maps.Copy(token.Header, map[string]any{"typ": "at+jwt", "kid": id})
	maps.Copy(token.Header, header)
	text, err := token.SignedString(s.keys[id])
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func verifier(t *testing.T, s *signer) *holdfast.DeviceTokens {
	t.Helper()
	v, err := holdfast.NewDeviceTokens(testIssuer+"/", testTenant, holdfast.WithHTTPDoer(s))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestDeviceTokens_TellWhoComes(t *testing.T) {
	t.Parallel()
	s := newSigner("k1")
	claims := goodClaims()
	got, err := verifier(t, s).Verify(t.Context(), s.token(t, "k1", claims, nil))
	want := holdfast.DeviceToken{
		ID: "one", Account: "an-account", Device: "a-device", Client: "hfc_1", Scopes: []string{"play", "watch"},
		Expires: time.Unix(claims["exp"].(int64), 0),
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v, token (-want +got):\n%s", err, diff)
	}
}

func TestDeviceTokens_RefuseAnyOther(t *testing.T) {
	t.Parallel()
	s := newSigner("k1", "k2")
	v := verifier(t, s)
	public := s.keys["k1"].Public().(ed25519.PublicKey)
	good := s.token(t, "k1", goodClaims(), nil)
	cases := map[string]string{
		"nothing":         "",
		"no token":        "hunter2",
		"a changed end":   good[:len(good)-8] + "AAAAAAAA",
		"no type":         s.token(t, "k1", goodClaims(), map[string]any{"typ": nil}),
		"an id token":     s.token(t, "k1", goodClaims(), map[string]any{"typ": "JWT"}),
		"no key":          s.token(t, "k1", goodClaims(), map[string]any{"kid": nil}),
		"a key of nobody": s.token(t, "k1", goodClaims(), map[string]any{"kid": "k3"}),
		"another key":     s.token(t, "k1", goodClaims(), map[string]any{"kid": "k2"}),
	}
	for name, c := range map[string]struct {
		claim string
		value any
	}{
		"another tenant's":      {"aud", "urn:holdfast:tenant:01930000-0000-7000-8000-00000000000b"},
		"Holdfast's own":        {"aud", "holdfast"},
		"nobody's":              {"aud", nil},
		"another issuer's":      {"iss", "https://holdfast.example"},
		"expired":               {"exp", time.Now().Add(-time.Minute).Unix()},
		"one that never ends":   {"exp", nil},
		"one of the future":     {"iat", time.Now().Add(time.Minute).Unix()},
		"one without account":   {"sub", nil},
		"one without device":    {"device_id", nil},
		"one without client":    {"client_id", nil},
		"one of another's form": {"device_id", 7},
	} {
		claims := goodClaims()
		if claims[c.claim] = c.value; c.value == nil {
			delete(claims, c.claim)
		}
		cases[name] = s.token(t, "k1", claims, nil)
	}
	for name, method := range map[string]struct {
		jwt.SigningMethod
		key any
	}{
		"one without a signature":           {jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType},
		"one signed with what all know":     {jwt.SigningMethodHS256, []byte(public)},
		"one signed with how it is spelled": {jwt.SigningMethodHS512, []byte(base64.RawURLEncoding.EncodeToString(public))},
	} {
		token := jwt.NewWithClaims(method.SigningMethod, jwt.MapClaims(goodClaims()))
		token.Header["typ"], token.Header["kid"] = "at+jwt", "k1"
		text, err := token.SignedString(method.key)
		if err != nil {
			t.Fatal(err)
		}
		cases[name] = text
	}
	for name, token := range cases {
		if got, err := v.Verify(t.Context(), token); !errors.Is(err, holdfast.ErrDeviceToken) || got.Account != "" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := v.Verify(t.Context(), good); err != nil {
		t.Errorf("the good one: %v", err)
	}
}

func TestDeviceTokens_FetchKeysWhenTheyAreNeeded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSigner("k1", "k2")
		later := s.keys["k2"]
		delete(s.keys, "k2")
		v := verifier(t, s)
		check := func(when, id string, known bool, asked int) {
			t.Helper()
			key := map[string]ed25519.PrivateKey{"k1": s.keys["k1"], "k2": later}[id]
			token := (&signer{keys: map[string]ed25519.PrivateKey{id: key}}).token(t, id, goodClaims(), nil)
			if _, err := v.Verify(t.Context(), token); known != (err == nil) || s.asked != asked {
				t.Errorf("%s: %v, and the keys were asked for %d times, want %d", when, err, s.asked, asked)
			}
		}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { check("many at once", "k1", true, 1) })
		}
		all.Wait()
		time.Sleep(9 * time.Minute)
		check("a known key", "k1", true, 1)
		check("an unknown one", "k2", false, 2)
		check("an unknown one again", "k2", false, 2)
		s.keys["k2"] = later
		time.Sleep(10 * time.Second)
		check("one that was published since", "k2", true, 3)
		time.Sleep(10 * time.Minute)
		delete(s.keys, "k2")
		check("one that was withdrawn, once the keys are old", "k2", false, 4)
	})
}

func TestDeviceTokens_TellARefusalFromAnOutage(t *testing.T) {
	t.Parallel()
	s := newSigner("k1")
	s.down = true
	v := verifier(t, s)
	token := s.token(t, "k1", goodClaims(), nil)
	_, err := v.Verify(t.Context(), token)
	if errors.Is(err, holdfast.ErrDeviceToken) || !holdfast.IsCode(err, "auth_unavailable") {
		t.Errorf("while the keys can't be had: %v", err)
	}
	s.down = false
	if _, err := v.Verify(t.Context(), token); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
