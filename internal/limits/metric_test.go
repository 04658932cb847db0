package limits

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

func TestRefusals_AreCountedByTheLimit_AndNeverByTheTenant(t *testing.T) {
	t.Parallel()
	reader, now := sdkmetric.NewManualReader(), &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	source := &told{set: Set{RequestsPerSecond: n(3), ConcurrentRequests: n(1), WaitingRequests: n(1), EntriesPerSecond: n(1), Worlds: n(0)}}
	l, err := newLimiter(source, nil, now.read, sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		l.Admit(t.Context(), acme, true)
	}
	for range 3 {
		l.Entries(t.Context(), acme, 1)
	}
	l.Demand(t.Context(), acme, domain.Worlds, 1)
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, p := range all.ScopeMetrics[0].Metrics[0].Data.(metricdata.Sum[int64]).DataPoints {
		limit, _ := p.Attributes.Value("limit")
		if p.Attributes.Len() != 1 {
			t.Errorf("labels are %v, want the limit's name alone", p.Attributes.ToSlice())
		}
		got[limit.AsString()] = p.Value
	}
	want := map[string]int64{"requests_per_second": 1, "waiting_requests": 2, "entries_per_second": 2, "worlds": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
}
