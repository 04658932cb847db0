package telemetry

import (
	"log/slog"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
)

// startMetrics sets t.Meters and t.Metrics.
func (t *Telemetry) startMetrics(res *resource.Resource, version string) error {
	if disabled() {
		t.Meters = noop.NewMeterProvider()
		t.Metrics = http.NotFoundHandler()
		return nil
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	reader, err := otelprom.New(otelprom.WithRegisterer(registry), otelprom.WithoutScopeInfo())
	if err != nil {
		return err
	}
	provider := sdkmetric.NewMeterProvider(
		sdkmetric.WithResource(res),
		sdkmetric.WithReader(reader),
		sdkmetric.WithView(riverView),
	)
	t.Meters = provider
	if err := tellBuild(provider, version); err != nil {
		return err
	}
	t.Metrics = promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog:      slog.NewLogLogger(t.Log.Handler(), slog.LevelWarn),
		ErrorHandling: promhttp.ContinueOnError, // what can be told is told
	})
	t.shutdown = append(t.shutdown, provider.Shutdown)
	return nil
}

// riverMeter is the scope of River's instrumentation.
const riverMeter = "github.com/riverqueue/rivercontrib/otelriver"

// riverView gives River's durations bounds in seconds, since it leaves them at
// a default that is meant for milliseconds, and takes off its metrics what has
// no bound of its own. The bounds are those of the semantic conventions for
// messaging.process.duration.
func riverView(i sdkmetric.Instrument) (sdkmetric.Stream, bool) {
	if i.Scope.Name != riverMeter {
		return sdkmetric.Stream{}, false
	}
	stream := sdkmetric.Stream{
		Name:            i.Name,
		Description:     i.Description,
		Unit:            i.Unit,
		AttributeFilter: attribute.NewDenyKeysFilter("tag", "attempt", "priority"),
	}
	if i.Kind == sdkmetric.InstrumentKindHistogram && strings.Contains(i.Name, "duration") {
		stream.Aggregation = sdkmetric.AggregationExplicitBucketHistogram{
			Boundaries: []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10},
		}
	}
	return stream, true
}
