package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

func TestMemory_TellsWhatIsTakenAndWhatThereIs(t *testing.T) {
	t.Parallel()
	reader := sdkmetric.NewManualReader()
	m := NewMemory(8 << 20)
	if err := m.Observe(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), "requests"); err != nil {
		t.Fatal(err)
	}
	observed := func() map[string]int64 {
		var all metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		found := map[string]int64{}
		for _, told := range all.ScopeMetrics[0].Metrics {
			for _, point := range told.Data.(metricdata.Gauge[int64]).DataPoints {
				size, _ := point.Attributes.Value("size")
				use, _ := point.Attributes.Value("use")
				found[told.Name+" "+use.AsString()+" "+size.AsString()] = point.Value
			}
		}
		return found
	}
	want := map[string]int64{
		"holdfast.bodies.memory.limit requests small": 1 << 20, "holdfast.bodies.memory.limit requests large": 7 << 20,
		"holdfast.bodies.memory.used requests small": 100, "holdfast.bodies.memory.used requests large": 1 << 20,
	}
	tenant := domain.TenantID{1}
	small, err := m.Take(t.Context(), tenant, 100)
	if err != nil {
		t.Fatal(err)
	}
	large, err := m.Take(t.Context(), tenant, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, observed()); diff != "" {
		t.Errorf("while some is held (-want +got):\n%s", diff)
	}
	small()
	small()
	large()
	want["holdfast.bodies.memory.used requests small"], want["holdfast.bodies.memory.used requests large"] = 0, 0
	if diff := cmp.Diff(want, observed()); diff != "" {
		t.Errorf("when all is given back (-want +got):\n%s", diff)
	}
}
