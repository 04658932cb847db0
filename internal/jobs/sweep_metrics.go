package jobs

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

// sweepMetrics count what the sweeps' steps find.
type sweepMetrics struct {
	visited, recovered, missed metric.Int64Counter
}

func newSweepMetrics(meter metric.Meter) (m sweepMetrics, err error) {
	for _, counter := range []struct {
		into              *metric.Int64Counter
		name, unit, about string
	}{
		{&m.visited, "holdfast.sweep.visited", "{candidate}", "What the sweeps looked into."},
		{&m.recovered, "holdfast.sweep.recovered", "{candidate}", "What of it was unfinished, and is finished now."},
		{&m.missed, "holdfast.sweep.missed", "{step}", "Steps that left a partition to another worker that was on it."},
	} {
		*counter.into, err = meter.Int64Counter(counter.name, metric.WithUnit(counter.unit), metric.WithDescription(counter.about))
		if err != nil {
			return m, err
		}
	}
	return m, nil
}

func (m sweepMetrics) took(ctx context.Context, kind string, family domain.Family, step identity.SweepStep) {
	labels := metric.WithAttributes(attribute.String("kind", kind), attribute.String("family", string(family)))
	m.visited.Add(ctx, int64(step.Visited), labels)
	m.recovered.Add(ctx, int64(step.Recovered), labels)
	if step.Busy {
		m.missed.Add(ctx, 1, labels)
	}
}
