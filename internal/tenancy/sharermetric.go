package tenancy

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// sharedMetric tells how many decisions share transactions.
type sharedMetric struct {
	decisions metric.Int64Histogram
	labels    metric.MeasurementOption // made once: it is on every flush's way
}

func newSharedMetric(meters metric.MeterProvider, name string) sharedMetric {
	// The API documents errors for malformed names only, and returns a working
	// instrument with them.
	decisions, _ := meters.Meter(instrumentation).Int64Histogram("holdfast.shared.decisions", metric.WithUnit("{decision}"),
		metric.WithDescription("Decisions that shared a transaction, by what they decide."),
		metric.WithExplicitBucketBoundaries(1, 2, 4, 8, 16, 32, 64, 128, 256))
	return sharedMetric{decisions, metric.WithAttributeSet(attribute.NewSet(attribute.String("decision", name)))}
}

func (m sharedMetric) flushed(ctx context.Context, decisions int) {
	m.decisions.Record(ctx, int64(decisions), m.labels)
}
