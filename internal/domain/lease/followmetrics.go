package lease

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// followMetrics counts who follows journals, and what tells them. Tenants are never among the labels.
type followMetrics struct {
	followers     metric.Int64UpDownCounter
	notifications metric.Int64Counter
}

func newFollowMetrics() (m followMetrics) {
	meter := otel.Meter("github.com/holdfast-dev/holdfast/internal/domain/lease")
	// The API documents errors for malformed names only, and returns a working
	// instrument with them.
	m.followers, _ = meter.Int64UpDownCounter("holdfast.lease.followers",
		metric.WithDescription("Readers that keep up with a journal."), metric.WithUnit("{reader}"))
	m.notifications, _ = meter.Int64Counter("holdfast.lease.notifications",
		metric.WithDescription("Notifications of journals that have gone on, by outcome; one tells of many."), metric.WithUnit("{notification}"))
	return m
}

// followed counts a follower until it ends.
func (m followMetrics) followed() (end func()) {
	m.followers.Add(context.Background(), 1)
	return func() { m.followers.Add(context.Background(), -1) }
}

func (m followMetrics) notified(err error) {
	outcome := "sent"
	if err != nil {
		outcome = "failed"
	}
	m.notifications.Add(context.Background(), 1, metric.WithAttributes(attribute.String("outcome", outcome)))
}
