package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// limit gives the request its deadline, which alone ends the work on it.
// net/http cancels a request as soon as its caller has nothing more to send, and
// a caller who has shut down that half of the connection still wants its answer.
func (s *server) limit(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx := context.WithoutCancel(c.Request().Context())
		timeout := s.timeout
		if op := callOf(ctx).operation; op != nil && op.timeout > 0 {
			timeout = op.timeout
			allowToWrite(c, timeout+timeToSend)
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		c.SetRequest(c.Request().WithContext(ctx))
		return next(c)
	}
}

// timeToSend is how long the answer of an operation with a timeout of its own
// may take to be sent.
const timeToSend = time.Minute

// allowToWrite moves the connection's deadline for the answer, which is there
// for operations that don't say how long they take. The next request on the
// connection gets the server's again. A test's recorder has none.
func allowToWrite(c echo.Context, within time.Duration) {
	_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(within))
}
