package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
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

const issuer = "https://id.example"

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
	s := newSubject(t, "HOLDFAST_ISSUER="+issuer)
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

// TestDeviceFlow_AStockClientLogsIn: golang.org/x/oauth2, unchanged, in both of
// its ways: told that the client's id goes into the form, and left to find out.
func TestDeviceFlow_AStockClientLogsIn(t *testing.T) {
	t.Parallel()
	for name, style := range map[string]oauth2.AuthStyle{"told how": oauth2.AuthStyleInParams, "left to find out": oauth2.AuthStyleAutoDetect} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLogin(t, style)
			shown := l.begin(t)
			polled := make(chan error, 1)
			var token *oauth2.Token
			go func() {
				var err error
				token, err = l.device.DeviceAccessToken(l.context(t), shown) // its first poll comes after 5 seconds
				polled <- err
			}()

			found, err := l.app.LookupDeviceCodeWithResponse(t.Context(), l.guess(shown.UserCode))
			if err != nil {
				t.Fatal(err)
			}
			if d := found.JSON200; d.Status != "pending" || *d.Label != "Living room" || *d.ClientID != l.client || !slices.Equal(d.Scopes, []string{"play"}) {
				t.Errorf("the device is %s", found.Body)
			}
			approved, err := l.app.ApproveDeviceWithResponse(t.Context(), l.guess(shown.UserCode))
			if err != nil {
				t.Fatal(err)
			}
			if err := <-polled; err != nil {
				t.Fatal(err)
			}
			device := approved.JSON200.ID
			l.demandTokens(t, token, device)
			l.demandRenewal(t, token, device)
			if auto := style == oauth2.AuthStyleAutoDetect; (l.net.basic > 0) != auto || l.net.refused != l.net.basic {
				t.Errorf("by Basic: %d, refused %d", l.net.basic, l.net.refused)
			}
		})
	}
}

// demandTokens holds the token to what the device was approved for, and no more.
func (l *login) demandTokens(t *testing.T, token *oauth2.Token, device string) {
	t.Helper()
	claims := l.claimsOf(t, token.AccessToken)
	if claims.Account != l.account || claims.Device != device || claims.Client != l.client || !slices.Equal(claims.Scopes, []string{"play"}) {
		t.Errorf("the token says %+v", claims)
	}
	if token.RefreshToken == "" || token.Type() != "Bearer" || time.Until(token.Expiry) > 15*time.Minute {
		t.Errorf("token is %+v", token)
	}
	// It is no credential for this API.
	for _, path := range []string{"/v1/accounts", "/v1/tenants"} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", l.api.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		token.SetAuthHeader(r)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s lets the device in: %d", path, response.StatusCode)
		}
	}
}

// demandRenewal has the stock client's token source renew a token that has
// expired, and shows that a spent refresh token ends the device.
func (l *login) demandRenewal(t *testing.T, token *oauth2.Token, device string) {
	t.Helper()
	expired := *token
	expired.Expiry = time.Now().Add(-time.Minute)
	source := l.device.TokenSource(l.context(t), &expired)
	renewed, err := source.Token()
	if err != nil {
		t.Fatal(err)
	}
	if renewed.RefreshToken == token.RefreshToken || l.claimsOf(t, renewed.AccessToken).ID == l.claimsOf(t, token.AccessToken).ID {
		t.Error("renewed is the token itself")
	}
	if again, err := source.Token(); err != nil || again.AccessToken != renewed.AccessToken {
		t.Errorf("a fresh token is renewed: %v", err)
	}
	_, err = l.device.TokenSource(l.context(t), &expired).Token() // the spent one, once more
	wantRefused(t, "a spent refresh token", err, "invalid_grant")
	last := *renewed
	last.Expiry = expired.Expiry
	_, err = l.device.TokenSource(l.context(t), &last).Token()
	wantRefused(t, "the last one after that", err, "invalid_grant")
	got, err := l.app.GetDeviceWithResponse(t.Context(), device)
	if err != nil || got.JSON200.Status != "revoked" {
		t.Errorf("the device is %s, %v", got.Body, err)
	}
}

func wantRefused(t *testing.T, what string, err error, code string) {
	t.Helper()
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) || refused.ErrorCode != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

func TestDeviceFlow_ADeniedDeviceIsToldSoAndARevokedOneGetsNothing(t *testing.T) {
	t.Parallel()
	l := newLogin(t, oauth2.AuthStyleInParams)
	denied, given := l.begin(t), l.begin(t)
	if _, err := l.app.DenyDeviceWithResponse(t.Context(), l.guess(denied.UserCode)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.app.ApproveDeviceWithResponse(t.Context(), l.guess(denied.UserCode)); !holdfast.IsCode(err, "device_decided") {
		t.Errorf("approved after all: %v", err)
	}
	status, refused := l.poll(t, denied.DeviceCode)
	if status != http.StatusBadRequest || refused.Error != "access_denied" {
		t.Errorf("the denied one: %d %s", status, refused.Error)
	}

	if status, refused = l.poll(t, given.DeviceCode); status != http.StatusBadRequest || refused.Error != "authorization_pending" {
		t.Errorf("the waiting one: %d %s", status, refused.Error)
	}
	if status, refused = l.poll(t, given.DeviceCode); status != http.StatusBadRequest || refused.Error != "slow_down" {
		t.Errorf("the hasty one: %d %s", status, refused.Error)
	}
	approved, err := l.app.ApproveDeviceWithResponse(t.Context(), l.guess(given.UserCode))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.app.RevokeDeviceWithResponse(t.Context(), approved.JSON200.ID, &holdfast.RevokeDeviceParams{IfMatch: &approved.Headers200.ETag}); err != nil {
		t.Fatal(err)
	}
	if status, refused = l.poll(t, given.DeviceCode); status != http.StatusBadRequest || refused.Error != "invalid_grant" {
		t.Errorf("the revoked one: %d %s", status, refused.Error)
	}
}
