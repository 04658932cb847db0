package main

import (
	"errors"
	"net/http"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

func isTaken(err error) bool {
	return holdfast.IsCode(err, "handle_taken") || holdfast.IsCode(err, "email_taken")
}

// isPending is a conflict that the caller may try again after a time, which is
// the deadline's at most.
func isPending(err error) bool {
	var e *holdfast.Error
	return errors.As(err, &e) && e.Status == http.StatusConflict && e.Code == "claim_pending" &&
		0 < e.RetryAfter && e.RetryAfter <= identity.DefaultDeadline
}

// unanswered is an error that the service didn't give.
func unanswered(err error) bool {
	var e *holdfast.Error
	return err != nil && !errors.As(err, &e)
}

// leavesOpen is an error that doesn't say whether it was done.
func leavesOpen(err error) bool { return unanswered(err) || holdfast.IsCode(err, "outcome_unknown") }

// mayRetry is a refusal that invites to try again.
func mayRetry(err error) bool {
	var e *holdfast.Error
	return errors.As(err, &e) && e.RetryAfter > 0 &&
		(e.Status == http.StatusConflict || e.Status == http.StatusServiceUnavailable)
}
