package migration

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func counted(t *testing.T, reader *sdkmetric.ManualReader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	found := map[string]int64{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		for _, point := range m.Data.(metricdata.Sum[int64]).DataPoints {
			for _, label := range point.Attributes.ToSlice() {
				found[m.Name+" "+label.Value.AsString()] = point.Value
			}
		}
	}
	return found
}

func TestMetrics_CountWhatACheckpointMovesOnBy(t *testing.T) {
	t.Parallel()
	reader := sdkmetric.NewManualReader()
	m := newMetrics(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	want := counted(t, reader)
	for name, value := range want {
		if value != 0 {
			t.Errorf("%s begins at %d", name, value)
		}
	}
	from := Checkpoint{Kind: Rehydrate, Counters: Counters{Passes: 7, Moved: 28, Bodies: 30, Bytes: 4096, Uploads: 3, Reuses: 1}}
	to := from
	to.Counters = Counters{Passes: 8, Moved: 31, Bodies: 36, Bytes: 5096, Uploads: 7, Reuses: 3, Raced: 1, Retries: 2}
	m.committed(t.Context(), &from, &to)
	m.lost(t.Context(), &to)

	want["holdfast.migration.passes rehydrate"] = 1
	want["holdfast.migration.passes.fenced rehydrate"] = 1
	want["holdfast.migration.passes.retries rehydrate"] = 2
	want["holdfast.migration.records rehydrate"] = 3
	want["holdfast.migration.records.raced rehydrate"] = 1
	want["holdfast.migration.bodies rehydrate"] = 6
	want["holdfast.migration.moved rehydrate"] = 1000
	want["holdfast.migration.objects uploaded"] = 4
	want["holdfast.migration.objects reused"] = 2
	if diff := cmp.Diff(want, counted(t, reader)); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}
