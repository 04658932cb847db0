package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// connection is the caller's end of a request.
type connection struct {
	gone    context.Context // done once the caller has gone, or sends nothing more
	control *http.ResponseController
}

// Why a wait ended.
var (
	errDraining   = errors.New("the server drains")
	errCallerGone = errors.New("the caller has gone")
)

// waiting gives an operation that waits for others a context that ends also when
// its caller goes and when the server drains. A wait is nothing that a change could
// be cut off in. The other operations are done when they are done.
func (s *server) waiting(ctx context.Context) (context.Context, func()) {
	caller := callOf(ctx).connection
	// The deadline was for what the caller sends, and net/http would take a caller
	// that is silent beyond it for one that has gone.
	_ = caller.control.SetReadDeadline(time.Time{}) // a test's recorder has none
	ctx, cancel := context.WithCancelCause(ctx)
	noDrain := context.AfterFunc(s.readiness.draining, func() { cancel(errDraining) })
	noLeave := context.AfterFunc(caller.gone, func() { cancel(errCallerGone) })
	return ctx, func() {
		noDrain()
		noLeave()
		cancel(nil)
	}
}

// endedWaiting says how an error is answered that may be the end of a wait.
func endedWaiting(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	switch {
	case !errors.Is(err, context.Canceled):
		return err
	case errors.Is(cause, errDraining):
		return (&problem{
			status: http.StatusServiceUnavailable, code: "draining", retryAfter: time.Second,
			detail: "The server is about to stop. Send the same request again: another one takes it on.",
		}).because(cause)
	case errors.Is(cause, errCallerGone):
		return malformed("connection_closed", "The connection was closed before the wait had ended.").because(cause)
	default:
		return err
	}
}
