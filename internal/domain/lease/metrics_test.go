package lease

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// measured is what was counted, and of histograms how often and how much.
func measured(t testing.TB, reader *sdkmetric.ManualReader) map[string]string {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, point := range data.DataPoints {
					to, _ := point.Attributes.Value("to")
					found[m.Name+to.AsString()] = fmt.Sprint(point.Value)
				}
			case metricdata.Histogram[int64]:
				found[m.Name] = fmt.Sprintf("%d of %d", data.DataPoints[0].Sum, data.DataPoints[0].Count)
			case metricdata.Histogram[float64]:
				found[m.Name] = fmt.Sprintf("%d, a term or more: %v", data.DataPoints[0].Count, data.DataPoints[0].Sum >= DefaultTerm.Seconds())
			}
		}
	}
	return found
}

func TestMetrics_CountWhatIsCommitted(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	world := c.world(t, "arena")
	reader := sdkmetric.NewManualReader()
	c.metrics = newMetrics(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))

	lease := c.hold(t, world)                                                               // 2 decisions, 2 entries
	c.write(t, world, &lease, "", "in time")                                                // 1, 1
	c.tryWrite(t, world, nil, "", "fenced")                                                 // 1, 1
	c.tryWrite(t, world, nil, "", "fenced")                                                 // 1, 0
	c.advance(t, 2*DefaultTerm)                                                             // it is over for 30 s
	c.write(t, world, nil, "", "hosted")                                                    // 1, 4: revoked, granted, rejected, written
	lease = c.hold(t, world)                                                                // 2, 2
	if _, err := c.HandOff(t.Context(), c.scope, world, lease, ToCoordinator); err != nil { // 1, 1
		t.Fatal(err)
	}
	want := map[string]string{
		"holdfast.lease.grantsnode":        "2",
		"holdfast.lease.grantscoordinator": "2",
		"holdfast.lease.expiries":          "1",
		"holdfast.lease.expiry.lateness":   "1, a term or more: true",
		"holdfast.lease.appends.fenced":    "2",
		"holdfast.lease.flush.decisions":   "9 of 9",
		"holdfast.lease.flush.entries":     "11 of 9",
	}
	if diff := cmp.Diff(want, measured(t, reader)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}
