package limits

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// refusals count, by the limit's name, how often one stood in the way. Whose it was is
// told by spans and logs.
type refusals struct {
	counter metric.Int64Counter
	labels  map[string]metric.MeasurementOption // made once: who floods is refused often
}

func newRefusals(meters metric.MeterProvider) refusals {
	// The API documents errors for malformed names only, and returns a working
	// instrument with them.
	counter, _ := meters.Meter("github.com/holdfast-dev/holdfast/internal/limits").Int64Counter("holdfast.limits.refusals", metric.WithUnit("{refusal}"),
		metric.WithDescription("How often a tenant's limit stood in the way, by the limit."))
	r := refusals{counter, map[string]metric.MeasurementOption{}}
	for _, f := range fields {
		r.labels[f.name] = metric.WithAttributeSet(attribute.NewSet(attribute.String("limit", f.name)))
	}
	return r
}

func (r refusals) count(ctx context.Context, limit string) { r.counter.Add(ctx, 1, r.labels[limit]) }
