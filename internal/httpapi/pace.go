package httpapi

import (
	"context"

	"github.com/labstack/echo/v4"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/limits"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Limiter is what the middleware and the handlers need of limits.Limiter.
type Limiter interface {
	// Admit may have the request wait for its turn. Who is admitted calls done.
	Admit(ctx context.Context, tenant domain.TenantID, waits bool) (done func(), a limits.Admission, err error)
	Entries(ctx context.Context, tenant domain.TenantID, n int) error
	ImportRows(ctx context.Context, tenant domain.TenantID) int64
}

// pace holds a tenant's principals to the tenant's limits, before their requests
// are read. Operators have none.
func (s *server) pace(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx := c.Request().Context()
		call := callOf(ctx)
		if call.scope.Tenant == tenancy.Operators {
			return next(c) // or a public operation: its handler knows whose it is
		}
		done, admission, err := s.limiter.Admit(ctx, call.scope.Tenant, call.operation.waits)
		header := c.Response().Header()
		header.Set(headerRateLimitPolicy, admission.Policy)
		header.Set(headerRateLimit, admission.Remaining)
		if err != nil {
			return err
		}
		call.atEnd(done)
		return next(c)
	}
}

// The fields of draft-ietf-httpapi-ratelimit-headers-10.
const (
	headerRateLimitPolicy = "RateLimit-Policy"
	headerRateLimit       = "RateLimit"
)

// paceTenant holds a caller to its tenant's limits whose tenant comes out late: by
// its API key, or by its public client.
func (s *server) paceTenant(ctx context.Context, tenant domain.TenantID) error {
	if tenant == tenancy.Operators {
		return nil
	}
	done, _, err := s.limiter.Admit(ctx, tenant, false)
	if err != nil {
		return err
	}
	callOf(ctx).atEnd(done)
	return nil
}
