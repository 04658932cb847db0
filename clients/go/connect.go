package holdfast

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// settings are what Options change.
type settings struct {
	doer     HttpRequestDoer
	attempts int
	scopes   []string
}

// newSettings are the defaults with the options' changes.
func newSettings(options []Option) settings {
	s := settings{doer: &http.Client{Timeout: time.Minute}, attempts: defaultAttempts}
	for _, option := range options {
		option(&s)
	}
	return s
}

// Option changes how Connect's client works.
type Option func(*settings)

// WithHTTPDoer sends requests through another client than one with a timeout
// of 60 seconds.
func WithHTTPDoer(doer HttpRequestDoer) Option { return func(s *settings) { s.doer = doer } }

// WithAttempts says how often a request is tried, at least once. The default is
// four times.
func WithAttempts(n int) Option { return func(s *settings) { s.attempts = max(n, 1) } }

// WithScopes asks for tokens with fewer scopes than the key's principal has.
func WithScopes(scopes ...string) Option { return func(s *settings) { s.scopes = scopes } }

// Connect makes a client for the API at baseURL that calls as the principal
// whose API key is given. It sends nothing yet.
func Connect(baseURL, apiKey string, options ...Option) (*ClientWithResponses, error) {
	s := newSettings(options)
	tokens, err := newTokenSource(baseURL, apiKey, s)
	if err != nil {
		return nil, err
	}
	client, err := NewClientWithResponses(strings.TrimSuffix(baseURL, "/"), WithHTTPClient(&transport{doer: s.doer, tokens: tokens, attempts: s.attempts}))
	if err != nil {
		return nil, fmt.Errorf("holdfast: %w", err)
	}
	return client, nil
}
