package holdfast_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

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

func TestConnect_RefusesAKeyWithoutShowingIt(t *testing.T) {
	t.Parallel()
	_, err := holdfast.Connect("https://holdfast.test", "hf_nothex_hunter2")
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error is %v", err)
	}
}

func TestTokens_AreBoughtOnceAndRenewedBeforeTheyExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{expires: 60, answer: func(_ int, w *httptest.ResponseRecorder) { account(w) }}
		client := connect(t, s)
		for _, pause := range []time.Duration{0, time.Second, 28 * time.Second, 2 * time.Second} {
			time.Sleep(pause)
			if _, err := client.GetAccountWithResponse(t.Context(), "x"); err != nil {
				t.Fatal(err)
			}
		}
		if diff := gocmp.Diff([]string{"token-1", "token-1", "token-1", "token-2"}, s.tokens()); diff != "" {
			t.Errorf("tokens (-want +got):\n%s", diff)
		}
	})
}

func TestTokens_OneIsBoughtForManyCallersAtOnce(t *testing.T) {
	t.Parallel()
	s := &service{answer: func(_ int, w *httptest.ResponseRecorder) { account(w) }}
	client := connect(t, s)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := client.GetAccountWithResponse(t.Context(), "x"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if s.granted != 1 {
		t.Errorf("%d tokens were bought", s.granted)
	}
}

func TestTokens_ARefusedOneIsReplacedOnce(t *testing.T) {
	t.Parallel()
	s := &service{answer: func(n int, w *httptest.ResponseRecorder) {
		if n != 2 {
			refuse(w, http.StatusUnauthorized, "token_revoked", "")
			return
		}
		account(w)
	}}
	client := connect(t, s)
	if _, err := client.GetAccountWithResponse(t.Context(), "x"); err != nil {
		t.Fatalf("with a fresh token: %v", err)
	}
	if _, err := client.GetAccountWithResponse(t.Context(), "x"); !holdfast.IsCode(err, "token_revoked") {
		t.Fatalf("refused again: %v", err)
	}
	if diff := gocmp.Diff([]string{"token-1", "token-2", "token-2", "token-3"}, s.tokens()); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
}

func TestTokens_ARefusedKeyIsAnErrorLikeOthers(t *testing.T) {
	t.Parallel()
	s := &service{grant: func(_ int, w *httptest.ResponseRecorder) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Request-Id", "r9")
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"error":"invalid_client","error_description":"Unknown client."}`)
	}}
	_, err := connect(t, s).GetAccountWithResponse(t.Context(), "x")
	var e *holdfast.Error
	if !errors.As(err, &e) || e.Status != 401 || e.Code != "invalid_client" || e.Detail != "Unknown client." || e.RequestID != "r9" {
		t.Errorf("error is %v", err)
	}
	if s.granted != 1 {
		t.Errorf("asked %d times", s.granted)
	}
}

func TestErrors_AreProblemsWithAType(t *testing.T) {
	t.Parallel()
	s := &service{answer: func(_ int, w *httptest.ResponseRecorder) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusConflict)
		io.WriteString(w, `{"type":"urn:holdfast:problem:email_taken","title":"Conflict","status":409,"code":"email_taken",`+
			`"detail":"It is in use.","request_id":"r1","errors":[{"pointer":"/email","code":"email_taken"}]}`)
	}}
	_, err := connect(t, s).CreateAccountWithResponse(t.Context(), nil, holdfast.NewAccount{Handle: "ada"})
	want := &holdfast.Error{Problem: holdfast.Problem{
		Type: "urn:holdfast:problem:email_taken", Title: "Conflict", Status: 409, Code: "email_taken", Detail: "It is in use.",
		RequestID: "r1", Errors: &[]holdfast.FieldError{{Pointer: "/email", Code: "email_taken"}},
	}}
	var got *holdfast.Error
	if !errors.As(err, &got) {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	if !holdfast.IsCode(err, "email_taken") || holdfast.IsCode(err, "handle_taken") || holdfast.IsCode(nil, "email_taken") {
		t.Error("IsCode is wrong")
	}
}

func TestErrors_FromSomethingInBetweenHaveAStatusOnly(t *testing.T) {
	t.Parallel()
	s := &service{answer: func(_ int, w *httptest.ResponseRecorder) {
		w.WriteHeader(http.StatusBadGateway)
		io.WriteString(w, "<html>bad gateway</html>")
	}}
	_, err := connect(t, s).GetAccountWithResponse(t.Context(), "x")
	var e *holdfast.Error
	if !errors.As(err, &e) || e.Status != 502 || e.Code != "" {
		t.Errorf("error is %v", err)
	}
}

// retried sends one request to a service that fails first and answers then, and
// tells how often it was sent, how long that took, and what came of it.
func retried(t *testing.T, s *service, send func(context.Context, *holdfast.ClientWithResponses) error) (times int, took time.Duration, err error) {
	t.Helper()
	began := time.Now()
	err = send(t.Context(), connect(t, s))
	for i, body := range s.bodies {
		if body != s.bodies[0] {
			t.Errorf("try %d has the body %q, the first %q", i+1, body, s.bodies[0])
		}
	}
	return len(s.seen), time.Since(began), err
}

func get(ctx context.Context, client *holdfast.ClientWithResponses) error {
	_, err := client.GetAccountWithResponse(ctx, "x")
	return err
}

func create(ctx context.Context, client *holdfast.ClientWithResponses) error {
	_, err := client.CreateAccountWithResponse(ctx, nil, holdfast.NewAccount{Handle: "ada"})
	return err
}

func lookup(ctx context.Context, client *holdfast.ClientWithResponses) error {
	handle := "ada"
	_, err := client.LookupAccountWithResponse(ctx, holdfast.LookupKey{Handle: &handle})
	return err
}

func remove(ctx context.Context, client *holdfast.ClientWithResponses) error {
	match := `"1"`
	_, err := client.DeleteAccountWithResponse(ctx, "x", &holdfast.DeleteAccountParams{IfMatch: &match})
	return err
}

func TestRetry_ObeysRetryAfterAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status     int
		retryAfter string
		send       func(context.Context, *holdfast.ClientWithResponses) error
		times      int
		took       time.Duration
	}{
		"unavailable":                           {503, "2", create, 2, 2 * time.Second},
		"too often":                             {429, "7", get, 2, 7 * time.Second},
		"a conflict that passes":                {409, "5", create, 2, 5 * time.Second},
		"a conflict that doesn't":               {409, "", create, 1, 0},
		"an unknown outcome without a key":      {503, "", remove, 1, 0},
		"a retry too far away":                  {503, "31", get, 1, 0},
		"broken":                                {500, "", get, 1, 0},
		"a retry that the service doesn't know": {503, "soon", get, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &service{answer: func(n int, w *httptest.ResponseRecorder) {
					switch {
					case n == 1:
						refuse(w, c.status, "some_code", c.retryAfter)
					default:
						created(w)
					}
				}}
				times, took, err := retried(t, s, c.send)
				if times != c.times || took != c.took || (err == nil) != (c.times > 1) {
					t.Errorf("sent %d times in %v with %v; want %d in %v", times, took, err, c.times, c.took)
				}
			})
		})
	}
}

func TestRetry_ALostAnswerIsAskedForAgainWhereThatIsSafe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		send  func(context.Context, *holdfast.ClientWithResponses) error
		times int
	}{
		"a read":     {get, 2},
		"a creation": {create, 2},
		"a lookup":   {lookup, 2},
		"a deletion": {remove, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				lost := errors.New("connection reset")
				s := &service{
					answer: func(_ int, w *httptest.ResponseRecorder) { account(w) },
					lose: func(n int) error {
						if n == 1 {
							return lost
						}
						return nil
					},
				}
				times, _, err := retried(t, s, c.send)
				if times != c.times || (c.times == 1) != errors.Is(err, lost) {
					t.Errorf("sent %d times, want %d; %v", times, c.times, err)
				}
			})
		})
	}
}

func TestRetry_EveryTryHasTheSameKeyAndEachCallItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{answer: func(n int, w *httptest.ResponseRecorder) {
			if n%2 == 1 {
				refuse(w, 503, "database_busy", "1")
				return
			}
			created(w)
		}}
		client := connect(t, s)
		mine := "mine"
		for _, params := range []*holdfast.CreateAccountParams{nil, nil, {IdempotencyKey: &mine}} {
			if _, err := client.CreateAccountWithResponse(t.Context(), params, holdfast.NewAccount{Handle: "ada"}); err != nil {
				t.Fatal(err)
			}
		}
		var keys []string
		for _, r := range s.seen {
			keys = append(keys, r.Header.Get("Idempotency-Key"))
		}
		if keys[0] == "" || keys[0] != keys[1] || keys[2] != keys[3] || keys[0] == keys[2] || !slices.Equal(keys[4:], []string{"mine", "mine"}) {
			t.Errorf("keys are %q", keys)
		}
	})
}

func TestRetry_EndsWithTheAttemptsAndWithTheCallersTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{answer: func(_ int, w *httptest.ResponseRecorder) { refuse(w, 503, "database_busy", "1") }}
		if err := get(t.Context(), connect(t, s, holdfast.WithAttempts(3))); !holdfast.IsCode(err, "database_busy") || len(s.seen) != 3 {
			t.Errorf("sent %d times: %v", len(s.seen), err)
		}
		s.seen = nil
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		began := time.Now()
		if err := get(ctx, connect(t, s)); !holdfast.IsCode(err, "database_busy") || len(s.seen) != 2 || time.Since(began) != time.Second {
			t.Errorf("sent %d times in %v: %v", len(s.seen), time.Since(began), err)
		}
	})
}

func TestRetry_ATokenEndpointThatIsDownIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{answer: func(_ int, w *httptest.ResponseRecorder) {}}
		s.grant = func(n int, w *httptest.ResponseRecorder) {
			refuse(w, 503, "auth_unavailable", "1")
			s.grant = nil
		}
		if err := remove(t.Context(), connect(t, s)); err != nil || s.granted != 2 {
			t.Errorf("asked %d times: %v", s.granted, err)
		}
	})
}
