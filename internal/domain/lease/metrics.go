package lease

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

// metrics counts what is committed. Tenants and worlds are never among the labels.
type metrics struct {
	grants, expiries, fenced metric.Int64Counter
	lateness                 metric.Float64Histogram
	decisions, entries       metric.Int64Histogram
	toNode, toCoordinator    metric.MeasurementOption // made once: they are on every handoff's way
}

func newMetrics(meters metric.MeterProvider) *metrics {
	meter := meters.Meter("github.com/holdfast-dev/holdfast/internal/domain/lease")
	m := &metrics{
		toNode:        metric.WithAttributeSet(attribute.NewSet(attribute.String("to", "node"))),
		toCoordinator: metric.WithAttributeSet(attribute.NewSet(attribute.String("to", "coordinator"))),
	}
	// The API documents errors for malformed names only, and returns a working
	// instrument with them.
	m.grants, _ = meter.Int64Counter("holdfast.lease.grants", metric.WithUnit("{lease}"),
		metric.WithDescription("Changes of a world's writer, by who became it."))
	m.expiries, _ = meter.Int64Counter("holdfast.lease.expiries", metric.WithUnit("{lease}"),
		metric.WithDescription("Leases that were ended because their time was over."))
	m.lateness, _ = meter.Float64Histogram("holdfast.lease.expiry.lateness", metric.WithUnit("s"),
		metric.WithDescription("How long the time of these was over."),
		metric.WithExplicitBucketBoundaries(0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600))
	m.fenced, _ = meter.Int64Counter("holdfast.lease.appends.fenced", metric.WithUnit("{append}"),
		metric.WithDescription("Appends that were rejected because their writer had no lease in force."))
	m.decisions, _ = meter.Int64Histogram("holdfast.lease.flush.decisions", metric.WithUnit("{decision}"),
		metric.WithDescription("Decisions that were made in one transaction."),
		metric.WithExplicitBucketBoundaries(1, 2, 4, 8, 16, 32, 64, 128, 256))
	m.entries, _ = meter.Int64Histogram("holdfast.lease.flush.entries", metric.WithUnit("{entry}"),
		metric.WithDescription("Journal entries that were written in one transaction."),
		metric.WithExplicitBucketBoundaries(0, 1, 4, 16, 64, 256, 1024, 4096, 16384))
	m.begin(context.Background())
	return m
}

// begin has the counters be there at 0, so that the first of anything is seen to
// have happened.
func (m *metrics) begin(ctx context.Context) {
	m.grants.Add(ctx, 0, m.toNode)
	m.grants.Add(ctx, 0, m.toCoordinator)
	m.expiries.Add(ctx, 0)
	m.fenced.Add(ctx, 0)
}

// tally is what happened to one world in one transaction, and can't be read from
// its new entries.
type tally struct {
	fenced int64
	late   time.Duration // that a lease was ended
}

// flushed counts a transaction that is committed.
func (m *metrics) flushed(ctx context.Context, decisions int, turns []*turn) {
	entries := 0
	for _, t := range turns {
		if t.locked == nil {
			continue
		}
		entries += len(t.locked.entries)
		if t.locked.tally.fenced > 0 {
			m.fenced.Add(ctx, t.locked.tally.fenced)
		}
		for i := range t.locked.entries {
			m.wrote(ctx, t.locked, &t.locked.entries[i])
		}
	}
	m.decisions.Record(ctx, int64(decisions))
	m.entries.Record(ctx, int64(entries))
}

func (m *metrics) wrote(ctx context.Context, w *locked, e *journal.Entry) {
	switch e.Kind {
	case journal.KindLeaseHandedOff:
		to, err := writerMadeBy(e)
		if err == nil && !to.IsCoordinator() {
			m.grants.Add(ctx, 1, m.toNode)
			return
		}
		m.grants.Add(ctx, 1, m.toCoordinator)
	case journal.KindLeaseGranted:
		m.grants.Add(ctx, 1, m.toCoordinator)
	case journal.KindLeaseRevoked:
		if e.Actor.IsCoordinator() { // everybody else has reasons of their own
			m.expiries.Add(ctx, 1)
			m.lateness.Record(ctx, w.tally.late.Seconds())
		}
	}
}
