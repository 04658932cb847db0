package holdfast_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

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

func lookupCode(ctx context.Context, client *holdfast.ClientWithResponses) error {
	_, err := client.LookupDeviceCodeWithResponse(ctx, holdfast.CodeGuess{UserCode: "WDJB-MJHT", AccountID: "x"})
	return err
}

func renew(ctx context.Context, client *holdfast.ClientWithResponses) error {
	_, err := client.RenewLeaseWithResponse(ctx, "north-7", &holdfast.RenewLeaseParams{HoldfastLease: "2.secret"})
	return err
}

func appendOne(ctx context.Context, client *holdfast.ClientWithResponses) error {
	_, err := client.AppendEntriesWithResponse(ctx, "north-7", nil, holdfast.NewEntries{Entries: []holdfast.NewEntry{one}})
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
		code       string // "" for a gateway's
		retryAfter string
		send       func(context.Context, *holdfast.ClientWithResponses) error
		times      int
		took       time.Duration
	}{
		"unavailable":                            {503, "some_code", "2", create, 2, 2 * time.Second},
		"too often":                              {429, "some_code", "7", get, 2, 7 * time.Second},
		"a conflict that passes":                 {409, "some_code", "5", create, 2, 5 * time.Second},
		"a conflict that doesn't":                {409, "some_code", "", create, 1, 0},
		"an unknown outcome without a key":       {503, "some_code", "", remove, 1, 0},
		"a retry too far away":                   {503, "some_code", "31", get, 1, 0},
		"a gateway's, of what may be repeated":   {502, "", "", get, 2, 0},
		"a gateway's, of what may not":           {502, "", "", remove, 1, 0},
		"a gateway's invitation":                 {503, "", "2", get, 2, 2 * time.Second},
		"a gateway's invitation to what may not": {503, "", "2", remove, 1, 0},
		"broken":                                 {500, "some_code", "", get, 1, 0},
		"a retry that the service doesn't know":  {503, "some_code", "soon", get, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &service{answer: func(n int, w *httptest.ResponseRecorder) {
					switch {
					case n == 1:
						refuse(w, c.status, c.code, c.retryAfter)
					default:
						created(w)
					}
				}}
				times, took, err := retried(t, s, c.send)
				if times != c.times || took < c.took || took > c.took+100*time.Millisecond || (err == nil) != (c.times > 1) {
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
		"a renewal":  {renew, 2},
		"an append":  {appendOne, 1},
		"a guess":    {lookupCode, 1},
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
		if err := get(ctx, connect(t, s)); !holdfast.IsCode(err, "database_busy") || len(s.seen) != 2 || time.Since(began) < time.Second {
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
