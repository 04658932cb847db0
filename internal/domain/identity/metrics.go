package identity

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// metrics counts what happens to claims. Tenants are never among the labels.
type metrics struct {
	claims     metric.Int64Counter
	recoveries metric.Int64Counter
}

func newMetrics() metrics {
	meter := otel.Meter("github.com/holdfast-dev/holdfast/internal/domain/identity")
	var m metrics
	// The API documents errors for malformed names only, and returns a working
	// instrument with them.
	m.claims, _ = meter.Int64Counter("holdfast.identity.claims",
		metric.WithDescription("Claims of lookup keys, by family and outcome."), metric.WithUnit("{claim}"))
	m.recoveries, _ = meter.Int64Counter("holdfast.identity.recoveries",
		metric.WithDescription("Unfinished work that was finished by somebody else, by what it was."), metric.WithUnit("{recovery}"))
	return m
}

func (m metrics) claimed(ctx context.Context, l link, outcome string) {
	m.claims.Add(ctx, 1, metric.WithAttributes(attribute.String("family", string(l.Family)), attribute.String("outcome", outcome)))
}

func (m metrics) recovered(ctx context.Context, what string) {
	m.recoveries.Add(ctx, 1, metric.WithAttributes(attribute.String("what", what)))
}
