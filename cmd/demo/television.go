package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path"
	"time"

	"golang.org/x/oauth2"
)

// television is a device with a standard OAuth client. It knows its client_id
// and who issues tokens, and nothing of Holdfast.
type television struct {
	config oauth2.Config
	http   *http.Client
	told   chan string // what its last poll was told: an error's code, or ""

	shows  *oauth2.DeviceAuthResponse
	tokens *oauth2.Token
}

// switchOn finds out where the issuer's endpoints are (RFC 8414).
func switchOn(ctx context.Context, issuer, clientID string, scopes ...string) (*television, error) {
	tv := &television{told: make(chan string, 1)}
	tv.http = &http.Client{Timeout: 10 * time.Second, Transport: overhear{tv.told}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, issuer+"/.well-known/oauth-authorization-server", nil)
	if err != nil {
		return nil, err
	}
	response, err := tv.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var server struct {
		Issuer string `json:"issuer"`
		Device string `json:"device_authorization_endpoint"`
		Token  string `json:"token_endpoint"`
	}
	if err := json.NewDecoder(response.Body).Decode(&server); err != nil {
		return nil, err
	}
	tv.config = oauth2.Config{ClientID: clientID, Scopes: scopes, Endpoint: oauth2.Endpoint{
		DeviceAuthURL: server.Device,
		TokenURL:      server.Token,
		AuthStyle:     oauth2.AuthStyleInParams, // it has no secret to put into a header
	}}
	return tv, expect(server.Issuer == issuer, "the issuer is %s, not %s", server.Issuer, issuer) // RFC 8414, section 3.3
}

func (tv *television) context(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, tv.http)
}

// begin gets a user code to show.
func (tv *television) begin(ctx context.Context, label string) (err error) {
	tv.shows, err = tv.config.DeviceAuth(tv.context(ctx), oauth2.SetAuthURLParam("label", label))
	return err
}

// poll waits for its user, at the pace that it was given. What it ends with is
// sent when it ends.
func (tv *television) poll(ctx context.Context) <-chan error {
	ended := make(chan error, 1)
	go func() (err error) {
		defer func() { ended <- err }()
		tv.tokens, err = tv.config.DeviceAccessToken(tv.context(ctx), tv.shows)
		return err
	}()
	return ended
}

// refresh spends a refresh token.
func (tv *television) refresh(ctx context.Context, refreshToken string) (*oauth2.Token, error) {
	return tv.config.TokenSource(tv.context(ctx), &oauth2.Token{RefreshToken: refreshToken}).Token()
}

// overhear passes requests on, and tells what each that asked for a token was
// told, to whoever listens.
type overhear struct{ told chan<- string }

func (o overhear) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil || path.Base(request.URL.Path) != "token" {
		return response, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	response.Body = io.NopCloser(bytes.NewReader(body))
	var refused struct {
		Error string `json:"error"`
	}
	if err == nil && json.Unmarshal(body, &refused) == nil {
		select {
		case o.told <- refused.Error:
		default:
		}
	}
	return response, err
}
