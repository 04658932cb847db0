package record

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Observe reports how much of the memory is taken, and how much there is. use tells
// what it is for from what else the process has memory for: "requests", say.
func (m *Memory) Observe(meters metric.MeterProvider, use string) error {
	meter := meters.Meter("github.com/holdfast-dev/holdfast/internal/domain/record")
	used, err := meter.Int64ObservableGauge("holdfast.bodies.memory.used", metric.WithUnit("By"),
		metric.WithDescription("Bytes of bodies that the process holds, or has room kept for."))
	if err != nil {
		return err
	}
	limit, err := meter.Int64ObservableGauge("holdfast.bodies.memory.limit", metric.WithUnit("By"),
		metric.WithDescription("The most that it holds; what asks for more waits, and is refused in the end."))
	if err != nil {
		return err
	}
	pools := map[string]*memoryPool{"small": m.small, "large": m.large}
	labels := map[string]metric.MeasurementOption{}
	for size := range pools {
		labels[size] = metric.WithAttributeSet(attribute.NewSet(attribute.String("use", use), attribute.String("size", size)))
	}
	_, err = meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		for size, pool := range pools {
			to.ObserveInt64(used, pool.taken.Load(), labels[size])
			to.ObserveInt64(limit, pool.total, labels[size])
		}
		return nil
	}, used, limit)
	return err
}
