package httpapi

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// pausing is a body that may take long as a whole and must not stop for long.
// The connection's own deadline is for bodies that are read before the work
// begins; this one is read while it goes on, so the time that the work takes
// must not count against the caller.
type pausing struct {
	io.ReadCloser
	connection *http.ResponseController
	pause      time.Duration
	end        time.Time // of the request; zero for never
}

func newPausing(c echo.Context, pause time.Duration) *pausing {
	end, _ := c.Request().Context().Deadline()
	return &pausing{c.Request().Body, http.NewResponseController(c.Response()), pause, end}
}

// Read fails with os.ErrDeadlineExceeded when nothing comes in time.
func (p *pausing) Read(into []byte) (int, error) {
	until := time.Now().Add(p.pause)
	if !p.end.IsZero() && p.end.Before(until) {
		until = p.end
	}
	_ = p.connection.SetReadDeadline(until) // a test's recorder has none
	n, err := p.ReadCloser.Read(into)
	if errors.Is(err, io.EOF) {
		// net/http watches the connection from here on.
		_ = p.connection.SetReadDeadline(time.Time{})
	}
	return n, err
}
