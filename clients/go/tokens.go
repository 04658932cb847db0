package holdfast

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// tokenSource buys tokens and keeps the last one until shortly before it
// expires. Requests that find none wait for the one that is buying.
type tokenSource struct {
	config clientcredentials.Config
	doer   HttpRequestDoer

	mu    sync.Mutex
	token *oauth2.Token
}

// keyForm is an API key: hf_<id>_<secret>.
var keyForm = regexp.MustCompile(`^(hf_[0-9a-f]+)_[A-Za-z0-9_-]+$`)

func newTokenSource(baseURL, apiKey string, s settings) (*tokenSource, error) {
	parts := keyForm.FindStringSubmatch(apiKey)
	if parts == nil {
		return nil, errors.New("holdfast: the API key is not of the form hf_<id>_<secret>") // the key itself is never shown
	}
	return &tokenSource{doer: s.doer, config: clientcredentials.Config{
		ClientID:     parts[1],
		ClientSecret: apiKey,
		TokenURL:     strings.TrimSuffix(baseURL, "/") + "/v1/oauth/token",
		Scopes:       s.scopes,
		AuthStyle:    oauth2.AuthStyleInHeader, // else it would try both ways
	}}, nil
}

// renewEarly is how long before its end a token is given up: longer than a
// request is under way.
const renewEarly = 30 * time.Second

// get gives a token that is good for a request sent now. Its errors are *Error
// where the service answered.
func (s *tokenSource) get(ctx context.Context) (*oauth2.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token != nil && time.Until(s.token.Expiry) > renewEarly {
		return s.token, nil
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Transport: roundTripper{s.doer}})
	token, err := s.config.Token(ctx)
	if err != nil {
		return nil, grantError(err)
	}
	s.token = token
	return token, nil
}

// forget drops a token that the service refused, unless another has taken its
// place already.
func (s *tokenSource) forget(token *oauth2.Token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == token {
		s.token = nil
	}
}

// grantError gives a refusal at the token endpoint the form of all others.
func grantError(err error) error {
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) || refused.Response == nil {
		return fmt.Errorf("holdfast: buy a token: %w", err)
	}
	e := &Error{RetryAfter: retryAfter(refused.Response.Header)}
	e.Status = refused.Response.StatusCode
	e.RequestID = refused.Response.Header.Get("X-Request-Id")
	e.Code, e.Detail = refused.ErrorCode, refused.ErrorDescription
	return e
}

// roundTripper lets oauth2 send through the client's own doer.
type roundTripper struct{ doer HttpRequestDoer }

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	return r.doer.Do(request)
}
