package httpapi

import (
	"context"
	"log/slog"
	"strings"

	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// The challenges of RFC 6750, section 3.
const (
	challengeNoToken      = `Bearer realm="holdfast"`
	challengeInvalidToken = `Bearer realm="holdfast", error="invalid_token"`
	challengeScope        = `Bearer realm="holdfast", error="insufficient_scope", scope="%s"`
)

// authenticate admits a caller whose token has the scope that the document
// demands of the operation.
func (s *server) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		ctx := r.Context()
		call := callOf(ctx)
		if call.operation == nil || call.operation.scope == "" {
			return next(c)
		}
		token, err := bearer(call.authorization)
		if err != nil {
			return err
		}
		scope, err := s.tokens.Authenticate(ctx, token)
		if err != nil {
			return err
		}
		call.scope = scope
		nameTenant(ctx, scope.Tenant)
		ctx = telemetry.With(ctx, slog.String("tenant_id", scope.Tenant.String()), slog.String("principal_id", scope.Principal.String()))
		c.SetRequest(r.WithContext(ctx))
		if !admits(scope, call.operation.scope) {
			return insufficient(call.operation.scope)
		}
		return next(c)
	}
}

// nameTenant puts the tenant on the request's span.
func nameTenant(ctx context.Context, tenant domain.TenantID) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.SetAttributes(attribute.String("holdfast.tenant_id", tenant.String()))
	}
}

// bearer takes the token out of the one Authorization header (RFC 6750, section
// 2.1).
func bearer(headers []string) (string, error) {
	if len(headers) == 0 {
		return "", unauthenticated("token_missing", "The operation needs a token. Send one as Authorization: Bearer.", challengeNoToken)
	}
	kind, token, _ := strings.Cut(headers[0], " ")
	if len(headers) > 1 || !strings.EqualFold(kind, "Bearer") || token == "" {
		return "", unauthenticated("token_malformed", "There must be one Authorization header, with a bearer token.", challengeNoToken)
	}
	return token, nil
}

func unauthenticated(code, detail, challenge string) *problem {
	return &problem{status: statusOf(domain.KindUnauthenticated), code: code, detail: detail, challenge: challenge}
}

// admits: a tenant's principal never passes where an operator's scope is
// demanded, nor an operator where a tenant's is, whatever was granted.
func admits(caller tenancy.Scope, scope string) bool {
	return caller.Allows(scope) && caller.IsOperator() == strings.HasPrefix(scope, "operator:")
}

func insufficient(scope string) *problem {
	return &problem{
		status:    statusOf(domain.KindForbidden),
		code:      "insufficient_scope",
		detail:    "The token doesn't have the scope that the operation needs: " + scope + ".",
		challenge: strings.Replace(challengeScope, "%s", scope, 1),
	}
}
