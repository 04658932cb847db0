package holdfast

import (
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"net/http"
	"time"

	"golang.org/x/oauth2"
)

const (
	defaultAttempts = 4
	firstPause      = 100 * time.Millisecond // doubles with each try that got no answer
	longestPause    = 30 * time.Second       // a longer Retry-After is the caller's to wait for
)

// transport sends a request with a token, as often as is safe and useful.
//
// It tries again when the service invites it by Retry-After, which the service
// does only where a repetition can't do a thing twice; and when there was no
// answer, or only a gateway's, to a request that may be repeated: one that reads or
// puts, one that creates under an Idempotency-Key (which it gets unless it has one),
// one that the API's description says to be repeatable, one that was never sent.
type transport struct {
	doer     HttpRequestDoer
	tokens   *tokenSource
	attempts int
}

// Do gives a successful answer, or an error: *Error where the service answered.
func (t *transport) Do(request *http.Request) (*http.Response, error) {
	if creates(request) && request.Header.Get("Idempotency-Key") == "" {
		request.Header.Set("Idempotency-Key", rand.Text())
	}
	for attempt := 1; ; attempt++ {
		response, err := t.authorized(request)
		if err == nil {
			return response, nil
		}
		pause, again := retryAfterError(request, err, attempt)
		if !again || attempt == t.attempts {
			return nil, err
		}
		if wait(request.Context(), pause) != nil {
			return nil, err // the caller's time is up: the last answer tells more
		}
	}
}

// authorized sends the request once; twice when its token was refused, since
// the token may have been revoked where the key was not.
func (t *transport) authorized(request *http.Request) (*http.Response, error) {
	token, err := t.tokens.get(request.Context())
	if err != nil {
		return nil, &unsentError{err}
	}
	response, err := t.send(request, token)
	var answered *Error
	if !errors.As(err, &answered) || answered.Status != http.StatusUnauthorized {
		return response, err
	}
	t.tokens.forget(token)
	if token, err = t.tokens.get(request.Context()); err != nil {
		return nil, &unsentError{err}
	}
	return t.send(request, token)
}

func (t *transport) send(request *http.Request, token *oauth2.Token) (*http.Response, error) {
	attempt := request.Clone(request.Context())
	if request.GetBody != nil {
		body, err := request.GetBody()
		if err != nil {
			return nil, err
		}
		attempt.Body = body
	}
	token.SetAuthHeader(attempt)
	response, err := t.doer.Do(attempt)
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode >= http.StatusBadRequest:
		return nil, errorIn(response)
	default:
		return response, nil
	}
}

// unsentError is a failure before the request itself was sent.
type unsentError struct{ error }

func (e *unsentError) Unwrap() error { return e.error }

// retryAfterError tells whether the request may be tried again after err, and
// when.
func retryAfterError(request *http.Request, err error, attempt int) (time.Duration, bool) {
	if request.Context().Err() != nil || request.Body != nil && request.Body != http.NoBody && request.GetBody == nil {
		return 0, false
	}
	var unsent *unsentError
	safe := errors.As(err, &unsent) || repeatable(request)
	var answered *Error
	if errors.As(err, &answered) {
		return answered.pause(safe, attempt)
	}
	return backoff(attempt), safe
}

// pause is how long a retry waits that may follow the answer, if one may. The service
// invites only to what can't be done twice; something before it, a gateway say, doesn't
// know, so what it says counts where a retry is safe anyway.
func (e *Error) pause(safe bool, attempt int) (pause time.Duration, again bool) {
	spoken := e.Code != ""
	switch {
	case e.RetryAfter > 0:
		// Those who were sent away together don't come back together.
		return e.RetryAfter + mathrand.N(backoff(attempt)), e.RetryAfter <= longestPause && (spoken || safe)
	case e.Status == http.StatusBadGateway, e.Status == http.StatusServiceUnavailable, e.Status == http.StatusGatewayTimeout:
		return backoff(attempt), safe && !spoken
	default:
		return 0, false
	}
}

// backoff is the pause behind a try that got no answer, the n-th from 1.
func backoff(n int) time.Duration {
	pause := min(firstPause<<min(n-1, 16), longestPause)
	return pause/2 + mathrand.N(pause/2+1)
}

// wait waits, or fails when ctx ends first, at once if it is sure to.
func wait(ctx context.Context, pause time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < pause {
		return context.DeadlineExceeded
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
