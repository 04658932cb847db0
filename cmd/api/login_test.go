package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// login is a stack with a public client and an account that is signed in
// somewhere, and a stock OAuth client on a device, which knows the service by
// its issuer alone.
type login struct {
	*subject
	app    *holdfast.ClientWithResponses // the tenant's application
	device oauth2.Config
	net    *network
}

// network finds the issuer's host where the API listens, and counts the requests
// that authenticate by Basic.
type network struct {
	api            *url.URL
	basic, refused int
}

func (n *network) Do(r *http.Request) (*http.Response, error) { return n.RoundTrip(r) }

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	found := r.Clone(r.Context())
	found.URL.Scheme, found.URL.Host = n.api.Scheme, n.api.Host
	response, err := http.DefaultTransport.RoundTrip(found)
	if _, _, basic := r.BasicAuth(); basic {
		n.basic++
		if err == nil && response.StatusCode == http.StatusUnauthorized {
			n.refused++
		}
	}
	return response, err
}

func newLogin(t *testing.T, style oauth2.AuthStyle) *login {
	t.Helper()
	s := newSubject(t)
	api, err := url.Parse(s.api.url)
	if err != nil {
		t.Fatal(err)
	}
	l := &login{subject: s, app: connect(t, s.api, s.owner.key), net: &network{api: api}}
	found := l.discover(t)
	l.device = oauth2.Config{
		ClientID: s.client,
		Scopes:   []string{"play"},
		Endpoint: oauth2.Endpoint{DeviceAuthURL: found.DeviceAuthorizationEndpoint, TokenURL: found.TokenEndpoint, AuthStyle: style},
	}
	return l
}

// discover reads the issuer's metadata (RFC 8414, section 3).
func (l *login) discover(t *testing.T) (found holdfast.AuthorizationServer) {
	t.Helper()
	response, err := (&http.Client{Transport: l.net}).Get(issuer + "/.well-known/oauth-authorization-server")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&found); err != nil || found.Issuer != issuer {
		t.Fatalf("the metadata of %s are %+v, %v", issuer, found, err)
	}
	return found
}

// context lets the stock client find the service.
func (l *login) context(t *testing.T) context.Context {
	return context.WithValue(t.Context(), oauth2.HTTPClient, &http.Client{Transport: l.net})
}

// poll asks once what has become of a device, and is refused.
func (l *login) poll(t *testing.T, code string) (status int, refused holdfast.OAuthError) {
	t.Helper()
	response, err := (&http.Client{Transport: l.net}).PostForm(l.device.Endpoint.TokenURL, url.Values{
		"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "client_id": {l.client}, "device_code": {code},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&refused); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, refused
}

// begin shows a code.
func (l *login) begin(t *testing.T) *oauth2.DeviceAuthResponse {
	t.Helper()
	shown, err := l.device.DeviceAuth(l.context(t), oauth2.SetAuthURLParam("label", "Living room"))
	if err != nil {
		t.Fatal(err)
	}
	want := "https://example.com/device?user_code=" + shown.UserCode
	if shown.VerificationURI != "https://example.com/device" || shown.VerificationURIComplete != want || shown.Interval != 5 || shown.DeviceCode == "" {
		t.Fatalf("shown is %+v", shown)
	}
	if left := time.Until(shown.Expiry); left < 14*time.Minute || left > 15*time.Minute {
		t.Errorf("the code lives for %v", left)
	}
	return shown
}

// typed is the code as people type it: lower case, a space and another dash.
func typed(code string) string { return " " + strings.ToLower(strings.ReplaceAll(code, "-", "\u2013")) }

func (l *login) guess(code string) holdfast.CodeGuess {
	return holdfast.CodeGuess{UserCode: typed(code), AccountID: l.account}
}

// claimsOf verifies a token as the tenant's application does, by the published
// keys.
func (l *login) claimsOf(t *testing.T, token string) holdfast.DeviceToken {
	t.Helper()
	verifier, err := holdfast.NewDeviceTokens(issuer, l.owner.id, holdfast.WithHTTPDoer(l.net))
	if err != nil {
		t.Fatal(err)
	}
	claims, err := verifier.Verify(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	return claims
}
