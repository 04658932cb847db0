package migration

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// metrics counts what passes have done that are committed, as their checkpoints
// do, and those that were made in vain. Tenants and collections are never among the
// labels.
type metrics struct {
	passes, fenced, retries metric.Int64Counter
	records, raced          metric.Int64Counter
	bodies, bytes           metric.Int64Counter
	objects                 metric.Int64Counter

	kinds   map[Kind]metric.MeasurementOption // made once: they are on every pass's way
	uploads metric.MeasurementOption
	reuses  metric.MeasurementOption
}

func newMetrics(meters metric.MeterProvider) *metrics {
	meter := meters.Meter("github.com/holdfast-dev/holdfast/internal/domain/migration")
	m := &metrics{kinds: map[Kind]metric.MeasurementOption{}}
	for _, counter := range []struct {
		into              *metric.Int64Counter
		name, unit, about string
	}{
		{&m.passes, "passes", "{pass}", "Passes that committed."},
		{&m.fenced, "passes.fenced", "{pass}", "Passes that another worker was ahead of: nothing of them was committed."},
		{&m.retries, "passes.retries", "{pass}", "Passes that were made over, for that or for what may pass."},
		{&m.records, "records", "{record}", "Records that were moved."},
		{&m.raced, "records.raced", "{record}", "Records that were changed while a pass was at them, and left to the next sweep."},
		{&m.bodies, "bodies", "{body}", "Bodies that were moved with them."},
		{&m.bytes, "moved", "By", "What these bodies take."},
		{&m.objects, "objects", "{object}", "Objects that passes needed, by whether they were uploaded or were there."},
	} {
		// The API documents errors for malformed names only, and returns a working
		// instrument with them.
		*counter.into, _ = meter.Int64Counter("holdfast.migration."+counter.name,
			metric.WithUnit(counter.unit), metric.WithDescription(counter.about))
	}
	label := func(key, value string) metric.MeasurementOption {
		return metric.WithAttributeSet(attribute.NewSet(attribute.String(key, value)))
	}
	for _, kind := range []Kind{RecordBodies, Rehydrate} {
		m.kinds[kind] = label("kind", string(kind))
	}
	m.uploads, m.reuses = label("outcome", "uploaded"), label("outcome", "reused")
	m.begin(context.Background())
	return m
}

// begin has the counters be there at 0, so that the first of anything is seen to
// have happened.
func (m *metrics) begin(ctx context.Context) {
	for kind, labels := range m.kinds {
		m.committed(ctx, &Checkpoint{Kind: kind}, &Checkpoint{Kind: kind})
		m.fenced.Add(ctx, 0, labels)
	}
}

// committed counts what a checkpoint has moved on by.
func (m *metrics) committed(ctx context.Context, from, to *Checkpoint) {
	kind := m.kinds[to.Kind]
	m.passes.Add(ctx, to.Passes-from.Passes, kind)
	m.retries.Add(ctx, to.Retries-from.Retries, kind)
	m.records.Add(ctx, to.Moved-from.Moved, kind)
	m.raced.Add(ctx, to.Raced-from.Raced, kind)
	m.bodies.Add(ctx, to.Bodies-from.Bodies, kind)
	m.bytes.Add(ctx, to.Bytes-from.Bytes, kind)
	m.objects.Add(ctx, to.Uploads-from.Uploads, m.uploads)
	m.objects.Add(ctx, to.Reuses-from.Reuses, m.reuses)
}

func (m *metrics) lost(ctx context.Context, of *Checkpoint) { m.fenced.Add(ctx, 1, m.kinds[of.Kind]) }
