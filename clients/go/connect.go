package holdfast

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// settings are what Options change.
type settings struct {
	doer     HttpRequestDoer
	attempts int
	scopes   []string
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

// keyForm is an API key: hf_<id>_<secret>.
var keyForm = regexp.MustCompile(`^(hf_[0-9a-f]+)_[A-Za-z0-9_-]+$`)

// Connect makes a client for the API at baseURL that calls as the principal
// whose API key is given. It sends nothing yet.
func Connect(baseURL, apiKey string, options ...Option) (*ClientWithResponses, error) {
	parts := keyForm.FindStringSubmatch(apiKey)
	if parts == nil {
		return nil, errors.New("holdfast: the API key is not of the form hf_<id>_<secret>") // the key itself is never shown
	}
	s := settings{doer: &http.Client{Timeout: time.Minute}, attempts: defaultAttempts}
	for _, option := range options {
		option(&s)
	}
	base := strings.TrimSuffix(baseURL, "/")
	tokens := &tokenSource{doer: s.doer, config: clientcredentials.Config{
		ClientID:     parts[1],
		ClientSecret: apiKey,
		TokenURL:     base + "/v1/oauth/token",
		Scopes:       s.scopes,
		AuthStyle:    oauth2.AuthStyleInHeader, // else it would try both ways
	}}
	client, err := NewClientWithResponses(base, WithHTTPClient(&transport{doer: s.doer, tokens: tokens, attempts: s.attempts}))
	if err != nil {
		return nil, fmt.Errorf("holdfast: %w", err)
	}
	return client, nil
}
