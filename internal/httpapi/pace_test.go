package httpapi

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/limits"
)

func TestPace_EveryAnswerToATenantTellsItsRate(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	answer := a.do(t, request{method: "GET", target: "/v1/accounts/" + domain.NewID[domain.AccountKind](time.Now()).String()})
	if got, want := answer.Header().Get("RateLimit-Policy"), `"requests";q=10;w=1`; got != want {
		t.Errorf("RateLimit-Policy: %s, want %s", got, want)
	}
	if got, want := answer.Header().Get("RateLimit"), `"requests";r=9;t=1`; got != want {
		t.Errorf("RateLimit: %s, want %s", got, want)
	}
	if admitted, done := a.limits.admitted.Load(), a.limits.done.Load(); admitted != 1 || done != 1 {
		t.Errorf("%d were admitted and %d have ended, want 1 and 1", admitted, done)
	}
}

func TestPace_OverTheRate_IsToldWhenToComeAgain_BeforeTheBodyIsRead(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.limits.refuse = domain.Limited("rate_limited", "Too many.").After(1500 * time.Millisecond)
	answer := a.do(t, request{method: "POST", target: "/v1/accounts", body: "no JSON at all"})
	if answer.Code != http.StatusTooManyRequests || !strings.Contains(answer.Body.String(), `"rate_limited"`) {
		t.Errorf("answered %d %s, want 429 rate_limited", answer.Code, answer.Body)
	}
	if got := answer.Header().Get("Retry-After"); got != "2" {
		t.Errorf("Retry-After: %s, want 2: whole seconds, and never too early", got)
	}
	if answer.Header().Get("RateLimit") == "" {
		t.Error("the refusal doesn't tell the rate")
	}
}

func TestPace_OperatorsAndTheUnknownHaveNoLimits(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.limits.refuse = domain.Limited("rate_limited", "Too many.")
	if answer := a.do(t, request{method: "GET", target: "/v1/tenants", token: "operator"}); answer.Code != http.StatusOK || answer.Header().Get("RateLimit") != "" {
		t.Errorf("an operator is answered %d with RateLimit %q", answer.Code, answer.Header().Get("RateLimit"))
	}
	if answer := a.do(t, request{method: "GET", target: "/livez", anonymous: true}); answer.Code != http.StatusOK {
		t.Errorf("/livez is answered %d", answer.Code)
	}
}

func TestPace_WhatWaitsTakesNoTurn(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.do(t, request{method: "POST", target: "/v1/worlds/north-7/lease/acquire", body: `{"request_id": "r-1"}`})
	a.do(t, request{method: "GET", target: "/v1/worlds/north-7/journal"})
	if admitted, waiting := a.limits.admitted.Load(), a.limits.waiting.Load(); admitted != 2 || waiting != 1 {
		t.Errorf("%d were admitted, %d of them to wait; want 2, 1", admitted, waiting)
	}
}

func TestPace_EntriesHaveARateOfTheirOwn(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.limits.refuseEntries = domain.Limited("rate_limited", "Too many entries.").After(time.Second)
	answer := a.do(t, request{method: "POST", target: "/v1/worlds/north-7/journal", body: `{"entries": [{"json": 1}]}`})
	if answer.Code != http.StatusTooManyRequests {
		t.Errorf("answered %d, want 429", answer.Code)
	}
}

func TestLimits_ShowWhatIsInForce_AndWhatNobodySet(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	seven := int64(7)
	a.limits.set = limits.Set{Worlds: &seven, Revision: 3}
	answer := a.do(t, request{method: "GET", target: "/v1/tenants/" + testTenant.String() + "/limits", token: "operator"})
	if answer.Code != http.StatusOK || answer.Header().Get("ETag") != `"3"` ||
		!strings.Contains(answer.Body.String(), `"worlds":{"default":false,"limit":7}`) ||
		!strings.Contains(answer.Body.String(), `"accounts":{"default":true,"limit":10000000}`) {
		t.Errorf("answered %d %v %s", answer.Code, answer.Header(), answer.Body)
	}
}
