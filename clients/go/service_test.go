package holdfast_test

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

const testKey = "hf_0123456789abcdef0123456789abcdef_secret"

// service answers in memory, without a network, so that pauses cost no time.
type service struct {
	mu      sync.Mutex
	granted int                                       // tokens sold
	expires int                                       // seconds a token lives
	seen    []*http.Request                           // what came, but for tokens
	bodies  []string                                  // likewise
	answer  func(n int, w *httptest.ResponseRecorder) // the n-th answer, from 1
	lose    func(n int) error                         // the n-th answer is lost, where this gives an error
	grant   func(n int, w *httptest.ResponseRecorder) // instead of a token
}

func (s *service) Do(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	if r.URL.Path == "/v1/oauth/token" {
		s.granted++
		s.sell(r, w)
		return w.Result(), nil
	}
	body := ""
	if r.Body != nil {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = string(text)
	}
	s.seen, s.bodies = append(s.seen, r), append(s.bodies, body)
	n := len(s.seen)
	if s.lose != nil {
		if err := s.lose(n); err != nil {
			return nil, err
		}
	}
	s.answer(n, w)
	return w.Result(), nil
}

func (s *service) sell(r *http.Request, w *httptest.ResponseRecorder) {
	if s.grant != nil {
		s.grant(s.granted, w)
		return
	}
	id, secret, _ := r.BasicAuth()
	if id != "hf_0123456789abcdef0123456789abcdef" || secret != testKey {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"Bearer","expires_in":%d}`, s.granted, cmp.Or(s.expires, 900))
}

func account(w *httptest.ResponseRecorder) {
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, `{"id":"01930000-0000-0000-0000-000000000001","handle":"ada"}`)
}

func created(w *httptest.ResponseRecorder) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	io.WriteString(w, `{"id":"01930000-0000-0000-0000-000000000001","handle":"ada"}`)
}

func refuse(w *httptest.ResponseRecorder, status int, code, retryAfter string) {
	w.Header().Set("Content-Type", "application/problem+json")
	if retryAfter != "" {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.WriteHeader(status)
	io.WriteString(w, `{"type":"urn:holdfast:problem:`+code+`","title":"T","status":503,"code":"`+code+`","detail":"D.","request_id":"r1"}`)
}

func connect(t *testing.T, s *service, options ...holdfast.Option) *holdfast.ClientWithResponses {
	t.Helper()
	client, err := holdfast.Connect("https://holdfast.test/", testKey, append(options, holdfast.WithHTTPDoer(s))...)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (s *service) tokens() (tokens []string) {
	for _, r := range s.seen {
		tokens = append(tokens, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	}
	return tokens
}
