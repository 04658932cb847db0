package main

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"golang.org/x/oauth2"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

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

func TestDeviceFlow_ADisabledClientsDeviceCanOnlyBeDenied(t *testing.T) {
	t.Parallel()
	l := newLogin(t, oauth2.AuthStyleInParams)
	shown := l.begin(t)
	if _, err := l.operator(t, l.api).DisableClientWithResponse(t.Context(), l.owner.id, l.client); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the client is refused", func() bool {
		status, refused := l.poll(t, shown.DeviceCode)
		return status == http.StatusUnauthorized && refused.Error == "invalid_client"
	})
	_, err := l.app.ApproveDeviceWithResponse(t.Context(), l.guess(shown.UserCode))
	var refused *holdfast.Error
	if !errors.As(err, &refused) || refused.Status != http.StatusConflict || refused.Code != "client_disabled" {
		t.Errorf("approved after all: %v", err)
	}
	found, err := l.app.LookupDeviceCodeWithResponse(t.Context(), l.guess(shown.UserCode))
	if err != nil || found.JSON200.Status != "pending" {
		t.Errorf("it can't be looked at: %v", err)
	}
	denied, err := l.app.DenyDeviceWithResponse(t.Context(), l.guess(shown.UserCode))
	if err != nil || denied.JSON200.Status != "denied" {
		t.Errorf("it can't be denied: %v", err)
	}
}

// I19: guessing is limited for whoever guesses, and for nobody else.
func TestDeviceCodes_WhoGuessesWrongTenTimesMustWait(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	client := connect(t, s.api, s.owner.key, holdfast.WithAttempts(1))
	lookup := func(account, code string) error {
		_, err := client.LookupDeviceCodeWithResponse(t.Context(), holdfast.CodeGuess{UserCode: code, AccountID: account})
		return err
	}
	for range 10 {
		if err := lookup(s.account, "BBBB-BBBB"); !holdfast.IsCode(err, "user_code_not_found") {
			t.Fatalf("a wrong code: %v", err)
		}
	}
	shown := *s.newDevice(t).UserCode
	err := lookup(s.account, shown)
	var limited *holdfast.Error
	if !errors.As(err, &limited) || limited.Status != http.StatusTooManyRequests || limited.Code != "user_code_guesses_exceeded" || limited.RetryAfter <= 0 {
		t.Errorf("after ten wrong codes: %v", err)
	}
	if err := lookup(s.newAccount(t, "innocent"), shown); err != nil {
		t.Errorf("another account: %v", err)
	}
}
