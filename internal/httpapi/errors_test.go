package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

func TestErrors_EachKindHasItsStatus(t *testing.T) {
	t.Parallel()
	for status, err := range map[int]error{
		422: domain.Invalid("some_code", "Some detail."),
		401: domain.Unauthenticated("some_code", "Some detail."),
		403: domain.Forbidden("some_code", "Some detail."),
		404: domain.NotFound("some_code", "Some detail."),
		409: domain.Conflict("some_code", "Some detail."),
		412: domain.PreconditionFailed("some_code", "Some detail."),
		428: domain.PreconditionRequired("some_code", "Some detail."),
		410: domain.Gone("some_code", "Some detail."),
		413: domain.TooLarge("some_code", "Some detail."),
		429: domain.Limited("some_code", "Some detail."),
		503: domain.Unavailable("some_code", "Some detail."),
	} {
		a := newTestAPI(t, testOptions{})
		a.directory.err = fmt.Errorf("wrapped: %w", err)
		w := a.do(t, request{method: "GET", target: accountPath})
		if p := problemIn(t, w); w.Code != status || p.Code != "some_code" || p.Detail != "Some detail." || p.Errors != nil {
			t.Errorf("%v is answered with %d %s", err, w.Code, w.Body)
		}
	}
}

func TestErrors_PointAtTheFieldsAtFault(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.directory.err = domain.Conflict("email_taken", "The email is in use.").At("/email")
	p := problemIn(t, a.do(t, request{method: "POST", target: "/v1/accounts", body: `{"handle":"a"}`}))
	if got := fieldsIn(p); len(got) != 1 || got[0] != (FieldError{Pointer: "/email", Code: "email_taken"}) {
		t.Errorf("errors are %v", got)
	}
}

func TestErrors_RetryAfterComesWithWhatMayPass(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err     error
		headers []string
		want    string
	}{
		"a conflict that passes":           {domain.Conflict("claim_pending", "Try again.").After(4200 * time.Millisecond), nil, "5"},
		"a conflict that doesn't":          {domain.Conflict("handle_taken", "Taken."), nil, ""},
		"unavailable":                      {domain.Unavailable("database_busy", "Try again."), nil, "1"},
		"limited":                          {domain.Limited("rate_limited", "Slower.").After(time.Minute), nil, "60"},
		"an unknown outcome":               {domain.OutcomeUnknown("outcome_unknown", "Nobody knows."), nil, ""},
		"an unknown outcome, with its key": {domain.OutcomeUnknown("outcome_unknown", "Nobody knows."), []string{"Idempotency-Key: k"}, "1"},
	} {
		a := newTestAPI(t, testOptions{})
		a.directory.err = c.err
		w := a.do(t, request{method: "POST", target: "/v1/accounts", body: `{"handle":"a"}`, headers: c.headers})
		if got := w.Header().Get("Retry-After"); got != c.want {
			t.Errorf("%s: Retry-After is %q, want %q", name, got, c.want)
		}
	}
}

func TestErrors_AKeyThatNobodyObeysDoesNotInviteToARetry(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.directory.err = domain.OutcomeUnknown("outcome_unknown", "Nobody knows.")
	w := a.do(t, request{method: "DELETE", target: accountPath, headers: []string{`If-Match: "7"`, "Idempotency-Key: k"}})
	if got := w.Header().Get("Retry-After"); got != "" {
		t.Errorf("Retry-After is %q", got)
	}
}

func TestErrors_AnUnknownOutcomeIsUnavailableWithItsOwnCode(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.directory.err = domain.OutcomeUnknown("outcome_unknown", "Nobody knows.")
	w := a.do(t, request{method: "POST", target: "/v1/accounts", body: `{"handle":"a"}`})
	if p := problemIn(t, w); w.Code != http.StatusServiceUnavailable || p.Code != "outcome_unknown" {
		t.Errorf("%d %s", w.Code, p.Code)
	}
}

const secretText = `pq: relation "accounts" violates ada@example.com`

func TestErrors_WhatIsUnlistedIsInternalAndItsTextStaysInTheLog(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(context.Context) error{
		"an error":                   func(context.Context) error { return errors.New(secretText) },
		"a panic":                    func(context.Context) error { panic(secretText) },
		"a cause":                    func(context.Context) error { return domain.Unavailable("x", "y").Because(errors.New(secretText)) },
		"a domain error of no kind":  func(context.Context) error { return &domain.Error{Code: "x", Detail: secretText} },
		"another request's canceled": func(context.Context) error { return fmt.Errorf(secretText+": %w", context.Canceled) },
	} {
		a := newTestAPI(t, testOptions{})
		a.directory.act = act
		w := a.do(t, request{method: "GET", target: accountPath})
		p := problemIn(t, w)
		if name != "a cause" && (w.Code != http.StatusInternalServerError || p.Code != "internal") {
			t.Errorf("%s: %d %s", name, w.Code, p.Code)
		}
		if strings.Contains(w.Body.String(), "accounts") {
			t.Errorf("%s: the answer tells %s", name, w.Body)
		}
		if !strings.Contains(a.log.String(), `relation \"accounts\"`) || !strings.Contains(a.log.String(), p.RequestID) {
			t.Errorf("%s: the log doesn't tell it: %s", name, a.log)
		}
		if name == "a panic" && !strings.Contains(a.log.String(), "errors_test.go") {
			t.Errorf("the log has no stack: %s", a.log)
		}
	}
}

func TestErrors_ADeadlineIsUnavailableAndForAChangeUnknown(t *testing.T) {
	t.Parallel()
	for method, code := range map[string]string{"GET": "timeout", "DELETE": "outcome_unknown"} {
		a := newTestAPI(t, testOptions{timeout: time.Millisecond})
		a.directory.act = func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		w := a.do(t, request{method: method, target: accountPath, headers: []string{`If-Match: "7"`}})
		if p := problemIn(t, w); w.Code != http.StatusServiceUnavailable || p.Code != code {
			t.Errorf("%s: %d %s", method, w.Code, p.Code)
		}
	}
}

func TestPanic_AbortHandlerStillAborts(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.directory.act = func(context.Context) error { panic(http.ErrAbortHandler) }
	defer func() {
		if recover() != http.ErrAbortHandler {
			t.Error("net/http's word was swallowed")
		}
	}()
	a.do(t, request{method: "GET", target: accountPath})
}
