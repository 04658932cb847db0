package httpapi

import (
	"log/slog"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// logAccess writes one line a request: what was called, by its template and
// never by its path, and how it ended. Its ids come with the context, but for
// those of a public client, which is known only once its form has been read.
// Probes are for debugging only.
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
		var room [8]slog.Attr
		attrs := append(room[:0],
			slog.String("method", knownMethod(c.Request().Method)),
			slog.String("route", template),
			slog.Int("status", c.Response().Status),
			slog.Duration("took", time.Since(begun)),
			slog.Int64("bytes", c.Response().Size),
		)
		if call.code != "" {
			attrs = append(attrs, slog.String("code", call.code))
		}
		if client := call.client; !client.ID.IsZero() {
			attrs = append(attrs, slog.String("tenant_id", client.Tenant.String()), slog.String("client_id", tenancy.ClientIDText(client.ID)))
		}
		s.log.LogAttrs(ctx, level, "request", attrs...)
		return err
	}
}
