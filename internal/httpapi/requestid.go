package httpapi

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

const headerRequestID = "X-Request-Id"

// identify gives the request its id, which is on the answer, on every problem
// and on every log line, and finds the operation of the route that matched.
func (s *server) identify(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		id := r.Header.Get(headerRequestID)
		if !saneRequestID(id) {
			id = domain.NewID[call](time.Now()).String()
		}
		c.Response().Header().Set(headerRequestID, id)

		call := &call{
			requestID:     id,
			operation:     s.operations[route{r.Method, c.Path()}],
			authorization: r.Header.Values("Authorization"),
			accept:        r.Header.Values("Accept"),
			encodings:     r.Header.Values("Accept-Encoding"),
			keyed:         r.Header.Get(headerIdempotencyKey) != "",
			connection:    connection{r.Context(), http.NewResponseController(c.Response())},
		}
		defer call.end()
		ctx := withCall(r.Context(), call)
		ctx = telemetry.With(ctx, slog.String("request_id", id))
		c.SetRequest(r.WithContext(ctx))
		err := next(c)
		if call.cutOff {
			// It must not look as if it were all: drop the connection.
			panic(http.ErrAbortHandler)
		}
		return err
	}
}

// saneRequestID takes 1 to 128 letters, digits, '.', '_' and '-': what can
// stand in a header and in a log line without a thought.
func saneRequestID(id string) bool {
	if id == "" || len(id) > 128 {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
