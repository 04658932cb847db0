package jobs

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/postgres"
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

// observePasses registers the age of the sweeps' passes: how long ago the last
// pass ended over the number that waits longest, by kind and family. A sweep
// that has not been over every number once has none yet.
func observePasses(meter metric.Meter, o Options) error {
	age, err := meter.Float64ObservableGauge("holdfast.sweep.pass.age", metric.WithUnit("s"),
		metric.WithDescription("How long ago the last pass ended over the number that waits longest."))
	if err != nil {
		return err
	}
	_, err = meter.RegisterCallback(func(ctx context.Context, to metric.Observer) error {
		ctx, cancel := context.WithTimeout(ctx, observeTimeout)
		defer cancel()
		progress, err := o.Identity.SweepProgress(ctx)
		if err != nil {
			o.Telemetry.Log.WarnContext(ctx, "the sweeps' progress can't be read", "error", err)
		}
		for labels, ended := range oldestPasses(progress, o.Databases) {
			to.ObserveFloat64(age, max(time.Since(ended).Seconds(), 0), metric.WithAttributeSet(labels))
		}
		return nil
	}, age)
	return err
}

func oldestPasses(progress []identity.SweepProgress, databases []*postgres.Database) map[attribute.Set]time.Time {
	numbers := map[string]int{}
	for _, db := range databases {
		numbers[db.Name] = len(db.Numbers)
	}
	oldest := map[attribute.Set]time.Time{}
	incomplete := map[attribute.Set]bool{}
	for _, p := range progress {
		labels := attribute.NewSet(attribute.String("kind", p.Kind), attribute.String("family", string(p.Family)))
		if p.OldestPass == nil || p.Numbers < numbers[p.Database] {
			incomplete[labels] = true
		} else if known, ok := oldest[labels]; !ok || p.OldestPass.Before(known) {
			oldest[labels] = *p.OldestPass
		}
	}
	for labels := range incomplete {
		delete(oldest, labels)
	}
	return oldest
}
