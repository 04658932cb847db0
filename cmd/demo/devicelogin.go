package main

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"golang.org/x/oauth2"

	"github.com/holdfast-dev/holdfast/clients/go"
)

// letADeviceIn has a television log in to acme with a standard OAuth client. The
// demonstration is acme's application, where Ada is signed in.
func letADeviceIn(ctx context.Context, s *stack, n *narrator) error {
	n.chapter("A device is let in")
	login := deviceLogin{stack: s, client: s.acme.client}
	if err := n.steps([]step{
		{"an operator makes a public client for acme's app on televisions", func() (err error) {
			login.app, err = s.makeClient(ctx, s.acme, nil)
			return err
		}},
		{"a television finds its way by the metadata and begins a login", func() error { return login.begin(ctx) }},
	}); err != nil {
		return err
	}
	n.note("it shows: go to %s and type %s", login.tv.shows.VerificationURI, login.tv.shows.UserCode)
	if err := n.steps([]step{
		{"it polls at its pace, and is told to wait", func() error { return login.isTold("authorization_pending") }},
		{"Bob guesses ten codes, all of them wrong, and may guess no more", func() error { return login.guess(ctx) }},
	}); err != nil {
		return err
	}
	n.note("Retry-After: %v", login.limited.RetryAfter)
	return n.steps([]step{
		{"Ada isn't held up by that: she types the code and sees what it would let in", func() error { return login.look(ctx) }},
		{"she lets it in, and the next poll gets tokens", func() error { return login.approve(ctx) }},
		{"acme verifies the token by the published keys: it is Ada's, from there", func() error { return login.verify(ctx) }},
		{"the token is none to globex, and none to Holdfast's own API", func() error { return login.verifyElsewhere(ctx) }},
		{"it refreshes its tokens, and the refresh token is another each time", func() error { return login.refresh(ctx) }},
		{"acme revokes the device: its refresh token is dead", func() error { return login.revoke(ctx) }},
	})
}

// deviceLogin is what a login of a device comes to know.
type deviceLogin struct {
	*stack
	client  *holdfast.ClientWithResponses // acme's
	app     holdfast.PublicClient
	tv      *television
	ended   <-chan error    // its polling
	limited *holdfast.Error // what Bob was told
	device  holdfast.Device // as Ada let it in
}

func (l *deviceLogin) begin(ctx context.Context) (err error) {
	if l.tv, err = switchOn(ctx, l.url(), l.app.ID, "play"); err != nil {
		return err
	}
	if err := l.tv.begin(ctx, "Living room"); err != nil {
		return err
	}
	l.ended = l.tv.poll(ctx)
	return expect(l.tv.shows.VerificationURI == l.app.VerificationURI, "it shows %s", l.tv.shows.VerificationURI)
}

// isTold waits for the television's next poll.
func (l *deviceLogin) isTold(code string) error {
	select {
	case told := <-l.tv.told:
		return expect(told == code, "it is told %q", told)
	case err := <-l.ended:
		return err
	}
}

// guess tries codes near the right one in another account's name.
func (l *deviceLogin) guess(ctx context.Context) error {
	const letters = "BCDFGHJKLMN" // of those that codes are made of, eleven
	try := func(letter rune) error {
		code := []rune(l.tv.shows.UserCode)
		if code[0], code[1] = letter, 'P'; string(code) == l.tv.shows.UserCode {
			code[1] = 'Q'
		}
		_, err := l.client.ApproveDeviceWithResponse(ctx, holdfast.CodeGuess{UserCode: string(code), AccountID: l.bob})
		return err
	}
	for _, letter := range letters[:10] {
		if err := expectCode(try(letter), http.StatusNotFound, "user_code_not_found"); err != nil {
			return err
		}
	}
	err := try(rune(letters[10]))
	errors.As(err, &l.limited)
	return expectCode(err, http.StatusTooManyRequests, "user_code_guesses_exceeded")
}

// typed is the code as Ada types it.
func (l *deviceLogin) typed() holdfast.CodeGuess {
	return holdfast.CodeGuess{UserCode: strings.ToLower(strings.ReplaceAll(l.tv.shows.UserCode, "-", " ")), AccountID: l.ada}
}

func (l *deviceLogin) look(ctx context.Context) error {
	seen, err := l.client.LookupDeviceCodeWithResponse(ctx, l.typed())
	if err != nil {
		return err
	}
	d := seen.JSON200
	right := d.Status == "pending" && *d.Label == "Living room" && *d.ClientID == l.app.ID && strings.Join(d.Scopes, " ") == "play"
	return expect(right, "she sees %+v", *d)
}

func (l *deviceLogin) approve(ctx context.Context) error {
	approved, err := l.client.ApproveDeviceWithResponse(ctx, l.typed())
	if err != nil {
		return err
	}
	l.device, l.television = *approved.JSON200, approved.JSON200.ID
	return <-l.ended
}

func (l *deviceLogin) verify(ctx context.Context) error {
	tokens, err := holdfast.NewDeviceTokens(l.url(), l.acme.id)
	if err != nil {
		return err
	}
	token, err := tokens.Verify(ctx, l.tv.tokens.AccessToken)
	if err != nil {
		return err
	}
	right := token.Account == l.ada && token.Device == l.device.ID && token.Client == l.app.ID && strings.Join(token.Scopes, " ") == "play"
	return expect(right, "it says %+v", token)
}

func (l *deviceLogin) verifyElsewhere(ctx context.Context) error {
	tokens, err := holdfast.NewDeviceTokens(l.url(), l.globex.id)
	if err != nil {
		return err
	}
	if _, err := tokens.Verify(ctx, l.tv.tokens.AccessToken); !errors.Is(err, holdfast.ErrDeviceToken) {
		return expect(err != nil, "globex takes it: %v", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, l.url()+"/v1/accounts", nil)
	if err != nil {
		return err
	}
	l.tv.tokens.SetAuthHeader(request)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	response.Body.Close()
	return expect(response.StatusCode == http.StatusUnauthorized, "the API answers %s", response.Status)
}

func (l *deviceLogin) refresh(ctx context.Context) error {
	for range 2 {
		next, err := l.tv.refresh(ctx, l.tv.tokens.RefreshToken)
		if err != nil {
			return err
		}
		if next.RefreshToken == l.tv.tokens.RefreshToken || next.AccessToken == l.tv.tokens.AccessToken {
			return errors.New("it got the same again")
		}
		l.tv.tokens = next
	}
	return l.verify(ctx)
}

func (l *deviceLogin) revoke(ctx context.Context) error {
	device, err := l.client.GetDeviceWithResponse(ctx, l.device.ID)
	if err != nil {
		return err
	}
	if _, err := l.client.RevokeDeviceWithResponse(ctx, l.device.ID, &holdfast.RevokeDeviceParams{IfMatch: &device.Headers200.ETag}); err != nil {
		return err
	}
	_, err = l.tv.refresh(ctx, l.tv.tokens.RefreshToken)
	var refused *oauth2.RetrieveError
	return expect(errors.As(err, &refused) && refused.ErrorCode == "invalid_grant", "it is told: %v", err)
}
