package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/labstack/echo/v4"
)

// errUnanswered is for a handler that ends well and answers nothing: net/http
// would say 200 for it.
var errUnanswered = errors.New("the handler wrote no answer")

// answer turns errors and panics into answers, so that what stands outside of
// it sees a status and never an error. Nothing passes it unanswered.
func (s *server) answer(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		err := recovered(next, c)
		if err == nil && !c.Response().Committed {
			err = errUnanswered
		}
		if err != nil {
			s.fail(c, err)
		}
		return nil
	}
}

// panicked is an error that was a panic.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprint("panic: ", p.value) }

func recovered(next echo.HandlerFunc, c echo.Context) (err error) {
	defer func() {
		switch v := recover(); v {
		case nil:
		case http.ErrAbortHandler:
			panic(v) // net/http's own word for dropping the connection
		default:
			err = &panicked{value: v, stack: debug.Stack()}
		}
	}()
	return next(c)
}

// fail answers an error. What is internal is logged with its text; what the
// caller did wrong is in the access log by its code.
func (s *server) fail(c echo.Context, err error) {
	ctx, response := c.Request().Context(), c.Response()
	call := callOf(ctx)
	if response.Committed && hungUp(call, err) {
		call.code, call.cutOff = clientGone, true
		s.log.InfoContext(ctx, "the client hung up before its answer was written", "error", err)
		return
	}
	p := problemOf(ctx, err)
	call.code = p.code
	if p.status >= http.StatusInternalServerError {
		s.logFailure(ctx, p, err)
	}
	if response.Committed {
		call.cutOff = true
		s.log.ErrorContext(ctx, "the answer was cut off", "error", err)
		return
	}
	render := p.render
	if call.operation != nil && call.operation.oauthErrors {
		render = p.renderOAuth
	}
	if err := render(c); err != nil {
		s.log.WarnContext(ctx, "an error could not be answered", "error", err)
	}
}

func (s *server) logFailure(ctx context.Context, p *problem, err error) {
	attrs := []slog.Attr{slog.String("code", p.code), slog.Any("error", err)}
	level := slog.LevelWarn // it may pass with time, and the caller was told so
	if p.status == http.StatusInternalServerError {
		level = slog.LevelError
	}
	var broke *panicked
	if errors.As(err, &broke) {
		attrs = append(attrs, slog.String("stack", string(broke.stack)))
	}
	s.log.LogAttrs(ctx, level, "request failed", attrs...)
}
