package audit

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// metrics counts what is written. Who acts, and on what, is never among the labels.
type metrics struct {
	entries  metric.Int64Counter
	outcomes map[Outcome]metric.MeasurementOption
}

func newMetrics() *metrics {
	// The API documents errors for malformed names only, and returns a working
	// instrument with them.
	entries, _ := otel.Meter("github.com/holdfast-dev/holdfast/internal/audit").Int64Counter("holdfast.audit.entries",
		metric.WithUnit("{entry}"), metric.WithDescription("Entries of the audit log, by outcome."))
	m := &metrics{entries, map[Outcome]metric.MeasurementOption{}}
	for _, outcome := range []Outcome{Begun, Done, Refused, Failed} {
		m.outcomes[outcome] = metric.WithAttributeSet(attribute.NewSet(attribute.String("outcome", string(outcome))))
		entries.Add(context.Background(), 0, m.outcomes[outcome]) // so that the first is seen to have happened
	}
	return m
}

func (m *metrics) wrote(ctx context.Context, e Entry) {
	if labels, ok := m.outcomes[e.Outcome]; ok {
		m.entries.Add(ctx, 1, labels)
	}
}
