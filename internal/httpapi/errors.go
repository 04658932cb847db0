package httpapi

import (
	"context"
	"errors"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// statusOf is the one place that knows which HTTP status a kind of failure has.
// An unknown outcome is 503 and not 500: the service was cut off, and the same
// request with the same key may well succeed. Its code and its detail say that
// it must not be repeated blindly.
func statusOf(kind domain.Kind) int {
	switch kind {
	case domain.KindInvalid:
		return http.StatusUnprocessableEntity
	case domain.KindUnauthenticated:
		return http.StatusUnauthorized
	case domain.KindForbidden:
		return http.StatusForbidden
	case domain.KindNotFound:
		return http.StatusNotFound
	case domain.KindConflict:
		return http.StatusConflict
	case domain.KindPreconditionFailed:
		return http.StatusPreconditionFailed
	case domain.KindPreconditionRequired:
		return http.StatusPreconditionRequired
	case domain.KindGone:
		return http.StatusGone
	case domain.KindTooLarge:
		return http.StatusRequestEntityTooLarge
	case domain.KindLimited:
		return http.StatusTooManyRequests
	case domain.KindUnavailable, domain.KindOutcomeUnknown:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// problemOf says how an error is answered to the request of ctx, or in its answer
// where that is about several. Whatever isn't listed here is internal, and its text
// stays in the log.
func problemOf(ctx context.Context, err error) *problem {
	var edge *problem
	if errors.As(err, &edge) {
		return edge
	}
	var known *domain.Error
	if errors.As(err, &known) {
		return domainProblem(ctx, known)
	}
	var refused *tenancy.GrantError
	if errors.As(err, &refused) {
		return grantProblem(refused)
	}
	var routed *echo.HTTPError
	if errors.As(err, &routed) {
		return routedProblem(routed)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return timeout(ctx).because(err)
	}
	return internal(err)
}

// clientGone is the code, in the log and the metrics alone, of an answer that nobody was
// there to read to its end.
const clientGone = "client_gone"

// hungUp tells an answer that couldn't be written since its client's connection is gone.
// net/http ends the connection's context then, but also for a client that has only
// nothing more to send: so the error has to be one of a connection, too.
func hungUp(call *call, err error) bool {
	return call.connection.gone.Err() != nil &&
		(errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, net.ErrClosed))
}

func internal(cause error) *problem {
	return &problem{
		status: http.StatusInternalServerError,
		code:   "internal",
		detail: "Something went wrong in the service. Its operators can find it by the request's id.",
		cause:  cause,
	}
}

func domainProblem(ctx context.Context, e *domain.Error) *problem {
	p := &problem{status: statusOf(e.Kind), code: e.Code, detail: e.Detail, fields: e.Fields, members: encodeMembers(e.Members), retryAfter: e.RetryAfter, cause: e}
	switch e.Kind {
	case domain.KindInternal:
		return internal(e)
	case domain.KindUnavailable, domain.KindLimited:
		p.retryAfter = max(p.retryAfter, time.Second)
	case domain.KindOutcomeUnknown:
		p.retryAfter = retryUnknown(ctx)
	case domain.KindUnauthenticated:
		p.challenge = challengeInvalidToken
	}
	return p
}

// retryUnknown invites to a retry only where one is safe: generic clients obey
// Retry-After without a look at the code.
func retryUnknown(ctx context.Context) time.Duration {
	call := callOf(ctx)
	if op := call.operation; op != nil && (op.repeatable || op.takesKey && call.keyed) {
		return time.Second
	}
	return 0
}

// routedProblem is for what Echo's router and the generated wrappers say. Their
// own words are Go text.
func routedProblem(e *echo.HTTPError) *problem {
	switch e.Code {
	case http.StatusNotFound:
		return &problem{status: e.Code, code: "route_not_found", detail: "Nothing is served at this path."}
	case http.StatusMethodNotAllowed:
		return &problem{status: e.Code, code: "method_not_allowed", detail: "The path doesn't know this method; Allow lists those that it knows."}
	case http.StatusBadRequest:
		return malformed("parameter_malformed", "A parameter can't be read.").because(e)
	default:
		return internal(e)
	}
}

// timeout is for a request that ran into its deadline. Nobody can know what a
// change has come to by then.
func timeout(ctx context.Context) *problem {
	if op := callOf(ctx).operation; op != nil && !op.safe() {
		return &problem{
			status: http.StatusServiceUnavailable, code: "outcome_unknown", retryAfter: retryUnknown(ctx),
			detail: "The request took too long and was given up, so the change may or may not have happened. " +
				"Read the state again; a request that had an Idempotency-Key or an operation id may be repeated with the same one.",
		}
	}
	return &problem{
		status: http.StatusServiceUnavailable, code: "timeout", retryAfter: time.Second,
		detail: "The request took too long and was given up. Try again.",
	}
}
