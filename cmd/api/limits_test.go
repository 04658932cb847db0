package main

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// limited is an API, and a tenant of it with limits of its own.
type limited struct {
	customer
	stack *stack
	api   *running
	token string
}

// newLimited limits a new tenant before any process has looked at it.
func (s *stack) newLimited(t testing.TB, r *running, name string, limits holdfast.SetLimits) *limited {
	t.Helper()
	l := &limited{stack: s, api: r, customer: s.tenant(t, r, name, tenancy.TenantScopes()...)}
	l.set(t, 1, limits)
	l.token = l.buyToken(t)
	return l
}

func (l *limited) set(t testing.TB, revision int, limits holdfast.SetLimits) {
	t.Helper()
	etag := strconv.Quote(strconv.Itoa(revision))
	if _, err := l.stack.operator(t, l.api).SetLimitsWithResponse(t.Context(), l.id, &holdfast.SetLimitsParams{IfMatch: &etag}, limits); err != nil {
		t.Fatal(err)
	}
}

// buyToken buys one as soon as the tenant may.
func (l *limited) buyToken(t testing.TB) string {
	t.Helper()
	token, err := holdfast.BuyToken(t.Context(), l.api.url, l.key)
	if err != nil {
		t.Fatal(err)
	}
	return token.AccessToken
}

// send sends a request once, for any of the test's goroutines.
func (l *limited) send(t testing.TB, method, path, body string, headers ...string) reply {
	request, err := http.NewRequestWithContext(t.Context(), method, l.api.url+path, strings.NewReader(body))
	if err != nil {
		return reply{cut: err}
	}
	request.Header.Set("Authorization", "Bearer "+l.token)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Set(name, value)
	}
	return answerTo(request)
}

// answerTo sends a request once; an error is the reply's.
func answerTo(request *http.Request) reply {
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return reply{cut: err}
	}
	defer response.Body.Close()
	r := reply{status: response.StatusCode, header: response.Header}
	r.body, r.cut = io.ReadAll(response.Body)
	return r
}

// atOnce sends so many requests at once.
func atOnce(n int, send func() reply) []reply {
	replies := make([]reply, n)
	var all sync.WaitGroup
	for i := range replies {
		all.Go(func() { replies[i] = send() })
	}
	all.Wait()
	return replies
}

// expectLimited demands that some were refused by a limit, as they should be, and none
// failed otherwise.
func expectLimited(t *testing.T, what, code string, replies []reply) {
	t.Helper()
	refused := 0
	for _, r := range replies {
		switch {
		case r.cut != nil || r.status != http.StatusTooManyRequests && r.status >= http.StatusBadRequest:
			t.Errorf("%s: %d %s %v", what, r.status, r.body, r.cut)
		case r.status == http.StatusTooManyRequests:
			refused++
			r.expectProblem(t, http.StatusTooManyRequests, code)
			if seconds, err := strconv.Atoi(r.header.Get("Retry-After")); err != nil || seconds < 1 {
				t.Errorf("%s: Retry-After is %q", what, r.header.Get("Retry-After"))
			}
		}
	}
	if refused == 0 || refused == len(replies) {
		t.Errorf("%s: %d of %d were refused, want some", what, refused, len(replies))
	}
}

func TestLimits_OverItsRateATenantIsToldWhenToComeAgain(t *testing.T) {
	t.Parallel()
	s := newStack(t, 1)
	l := s.newLimited(t, s.serve(t), "acme", holdfast.SetLimits{RequestsPerSecond: ptr(int64(1))})
	replies := atOnce(30, func() reply { return l.send(t, "GET", "/v1/accounts?limit=1", "") })
	expectLimited(t, "reads", "rate_limited", append(replies, reply{status: http.StatusOK})) // the token's purchase may have been this second's
	for _, r := range replies {
		if got, want := r.header.Get("RateLimit-Policy"), `"requests";q=1;w=1`; got != want {
			t.Errorf("RateLimit-Policy: %s, want %s", got, want)
		}
		if got, want := r.header.Get("RateLimit"), `"requests";r=0;t=1`; got != want {
			t.Errorf("RateLimit: %s, want %s", got, want)
		}
	}
	if _, err := connect(t, l.api, l.key).ListAccountsWithResponse(t.Context(), nil); err != nil {
		t.Errorf("who obeys Retry-After: %v", err)
	}
	for range 20 { // operators have no rate
		if _, err := s.operator(t, l.api).GetLimitsWithResponse(t.Context(), l.id); err != nil {
			t.Errorf("an operator: %v", err)
		}
	}
}

func TestLimits_HoldForTokensAndForPublicClients(t *testing.T) {
	t.Parallel()
	s := newStack(t, 1)
	l := s.newLimited(t, s.serve(t), "acme", holdfast.SetLimits{RequestsPerSecond: ptr(int64(2))})
	client, err := s.operator(t, l.api).CreateClientWithResponse(t.Context(), l.id, nil,
		holdfast.NewPublicClient{Name: "tv", Scopes: ptr([]string{"play"}), VerificationURI: "https://example.com/device"})
	if err != nil {
		t.Fatal(err)
	}
	post := func(path string, form url.Values) reply {
		request, err := http.NewRequestWithContext(t.Context(), "POST", l.api.url+path, bytes.NewBufferString(form.Encode()))
		if err != nil {
			return reply{cut: err}
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return answerTo(request)
	}
	buy := func(secret string) reply {
		return post("/v1/oauth/token", url.Values{"grant_type": {"client_credentials"}, "client_id": {clientID(l.key)}, "client_secret": {secret}})
	}
	for _, r := range atOnce(20, func() reply { return buy(l.key[:len(l.key)-1]) }) {
		if r.status != http.StatusUnauthorized { // whoever knows no secret takes nothing off the rate
			t.Errorf("a wrong secret: %d %s", r.status, r.body)
		}
	}
	admitted := reply{status: http.StatusOK} // a slow machine may have spent the bucket before
	expectLimited(t, "tokens", "rate_limited", append(atOnce(20, func() reply { return buy(l.key) }), admitted))
	expectLimited(t, "device codes", "rate_limited", append(atOnce(20, func() reply {
		return post("/v1/oauth/device_authorization", url.Values{"client_id": {client.JSON201.ID}, "scope": {"play"}})
	}), admitted))
}

// A tenant's requests wait for one another, in a line of their own that isn't long.
func TestLimits_RequestsAtOnce(t *testing.T) {
	t.Parallel()
	p := newPinned(t, holdfast.SetLimits{ConcurrentRequests: ptr(int64(1))})
	first := p.change(t)
	p.untilWaiting(t, 1)
	expectLimited(t, "behind one that waits for a lock", "too_many_requests",
		append(atOnce(6, func() reply { return p.send(t, "GET", "/v1/accounts?limit=1", "") }), reply{status: http.StatusOK}))
	p.release(t)
	if r := <-first; r.status != http.StatusOK {
		t.Errorf("the one under way: %d %s", r.status, r.body)
	}
	if r := p.send(t, "GET", "/v1/accounts?limit=1", ""); r.status != http.StatusOK {
		t.Errorf("when its turn is free: %d %s", r.status, r.body)
	}
}

func TestLimits_RequestsThatWaitForOthers(t *testing.T) {
	t.Parallel()
	s := newStack(t, 1)
	l := s.newLimited(t, s.serve(t), "acme", holdfast.SetLimits{WaitingRequests: ptr(int64(1)), ConcurrentRequests: ptr(int64(1))})
	if made := l.send(t, "POST", "/v1/worlds", `{"world_id":"north-7"}`); made.status != http.StatusCreated {
		t.Fatalf("no world: %d %s", made.status, made.body)
	}
	const stream = "/v1/worlds/north-7/journal/stream"
	follower := &player{url: l.api.url, token: l.token}
	open := follower.stream(t, l.api, "north-7", "")
	refused := l.send(t, "GET", stream, "")
	refused.expectProblem(t, http.StatusTooManyRequests, "too_many_waiting")
	if refused.header.Get("Retry-After") == "" {
		t.Error("nothing says when to come again")
	}
	if r := l.send(t, "GET", "/v1/worlds", ""); r.status != http.StatusOK {
		t.Errorf("who waits takes the turn of who works: %d %s", r.status, r.body)
	}
	open.body.Close()
	eventually(t, "another may follow", func() bool {
		request, err := http.NewRequestWithContext(t.Context(), "GET", l.api.url+stream, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+l.token)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
}

func TestLimits_EntriesAndRowsOfImports(t *testing.T) {
	t.Parallel()
	s := newStack(t, 1)
	l := s.newLimited(t, s.serve(t), "acme", holdfast.SetLimits{EntriesPerSecond: ptr(int64(1)), ImportRows: ptr(int64(2))})
	if made := l.send(t, "POST", "/v1/worlds", `{"world_id":"north-7"}`); made.status != http.StatusCreated {
		t.Fatalf("no world: %d %s", made.status, made.body)
	}
	expectLimited(t, "appends", "rate_limited", atOnce(20, func() reply {
		return l.send(t, "POST", "/v1/worlds/north-7/journal", `{"entries":[{"json":1}]}`)
	}))

	rows := func(keys ...string) (lines string) {
		for _, key := range keys {
			lines += `{"key":"` + key + `","account":{"handle":"` + key + `-user"}}` + "\n"
		}
		return lines
	}
	if r := l.send(t, "POST", "/v1/accounts/import", rows("a", "b"), "Content-Type: application/x-ndjson"); r.status != http.StatusOK || strings.Count(r.text(), `"created"`) != 2 {
		t.Errorf("as many rows as there may be: %d %s", r.status, r.body)
	}
	long := l.send(t, "POST", "/v1/accounts/import", rows("c", "d", "e"), "Content-Type: application/x-ndjson")
	if p := long.expectProblem(t, http.StatusRequestEntityTooLarge, "too_many_lines"); !strings.Contains(p.Detail, "at most 2 lines") {
		t.Errorf("a row too many: %s", p.Detail)
	}
}

func TestLimits_ChangedOnesHoldAtEveryProcessWithinSeconds(t *testing.T) {
	t.Parallel()
	s := newStack(t, 1)
	l := s.newLimited(t, s.serve(t), "acme", holdfast.SetLimits{})
	other := *l
	other.api = s.serve(t)
	policy := func(at *limited) string {
		return at.send(t, "GET", "/v1/accounts?limit=1", "").header.Get("RateLimit-Policy")
	}
	for _, at := range []*limited{l, &other} {
		if got := policy(at); got != `"requests";q=2000;w=1` {
			t.Errorf("by default: %s", got)
		}
	}
	l.set(t, 2, holdfast.SetLimits{RequestsPerSecond: ptr(int64(77))})
	changed := time.Now()
	for _, at := range []*limited{l, &other} {
		eventually(t, "the change holds", func() bool { return policy(at) == `"requests";q=77;w=1` })
	}
	if took := time.Since(changed); took > 15*time.Second { // five, and what a busy machine adds
		t.Errorf("the change held after %v", took)
	}
}
