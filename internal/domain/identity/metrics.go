package identity

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// metrics counts what happens to claims. Tenants are never among the labels.
type metrics struct {
	claims     metric.Int64Counter
	outcomes   map[claimOutcome]metric.MeasurementOption // made once: they are on every creation's way
	recoveries metric.Int64Counter
	guesses    metric.Int64Counter
	reuses     metric.Int64Counter
}

type claimOutcome struct {
	family  domain.Family
	granted bool
}

func newMetrics() metrics {
	meter := otel.Meter("github.com/holdfast-dev/holdfast/internal/domain/identity")
	m := metrics{outcomes: map[claimOutcome]metric.MeasurementOption{}}
	// The API documents errors for malformed names only, and returns a working
	// instrument with them.
	m.claims, _ = meter.Int64Counter("holdfast.identity.claims",
		metric.WithDescription("Claims of lookup keys, by family and outcome."), metric.WithUnit("{claim}"))
	m.recoveries, _ = meter.Int64Counter("holdfast.identity.recoveries",
		metric.WithDescription("Unfinished work that somebody else took up or was left with, by what it was."), metric.WithUnit("{recovery}"))
	m.guesses, _ = meter.Int64Counter("holdfast.identity.user_code_guesses",
		metric.WithDescription("User codes that were entered, by what became of them."), metric.WithUnit("{guess}"))
	m.reuses, _ = meter.Int64Counter("holdfast.identity.refresh_token_reuses",
		metric.WithDescription("Refresh tokens that were shown a second time, which ended their devices."), metric.WithUnit("{token}"))
	for _, family := range []domain.Family{domain.FamilyHandle, domain.FamilyEmail, domain.FamilyDeviceCode} {
		for granted, outcome := range map[bool]string{true: "granted", false: "refused"} {
			labels := metric.WithAttributeSet(
				attribute.NewSet(attribute.String("family", string(family)), attribute.String("outcome", outcome)))
			m.outcomes[claimOutcome{family, granted}] = labels
			m.claims.Add(context.Background(), 0, labels) // so that the first is seen to have happened
		}
	}
	return m
}

func (m metrics) claimed(ctx context.Context, l link, granted bool) {
	m.claims.Add(ctx, 1, m.outcomes[claimOutcome{l.Family, granted}])
}

func (m metrics) recovered(ctx context.Context, what string) {
	m.recoveries.Add(ctx, 1, metric.WithAttributes(attribute.String("what", what)))
}

func (m metrics) guessed(ctx context.Context, outcome string) {
	m.guesses.Add(ctx, 1, metric.WithAttributes(attribute.String("outcome", outcome)))
}
