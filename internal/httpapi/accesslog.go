package httpapi

import (
	"log/slog"
	"time"

	"github.com/labstack/echo/v4"
)

// logAccess writes one line a request: what was called, by its template and
// never by its path, and how it ended. Its ids come with the context. Probes
// are for debugging only.
func (s *server) logAccess(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		begun := time.Now()
		err := next(c)

		ctx := c.Request().Context() // the innermost: it has the tenant's id
		call := callOf(ctx)
		level, template := slog.LevelInfo, ""
		if call.operation != nil {
			template = call.operation.template
		}
		if template == "/livez" || template == "/readyz" {
			level = slog.LevelDebug
		}
		if !s.log.Enabled(ctx, level) {
			return err
		}
		attrs := [6]slog.Attr{
			slog.String("method", knownMethod(c.Request().Method)),
			slog.String("route", template),
			slog.Int("status", c.Response().Status),
			slog.Duration("took", time.Since(begun)),
			slog.Int64("bytes", c.Response().Size),
			slog.String("code", call.code),
		}
		known := attrs[:]
		if call.code == "" {
			known = attrs[:5]
		}
		s.log.LogAttrs(ctx, level, "request", known...)
		return err
	}
}
