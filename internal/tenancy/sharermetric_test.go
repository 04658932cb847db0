package tenancy

import (
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func TestSharer_TellsHowManyDecisionsShareATransaction(t *testing.T) {
	t.Parallel()
	reader := sdkmetric.NewManualReader()
	m := newSharedMetric(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), "identity.claim")
	m.flushed(t.Context(), 1)
	m.flushed(t.Context(), 16)

	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	point := all.ScopeMetrics[0].Metrics[0].Data.(metricdata.Histogram[int64]).DataPoints[0]
	if decision, _ := point.Attributes.Value("decision"); point.Sum != 17 || point.Count != 2 || decision.AsString() != "identity.claim" || point.Attributes.Len() != 1 {
		t.Errorf("told of %d in %d, with %v", point.Sum, point.Count, point.Attributes)
	}
}
