package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// startTraces sets t.Tracers. The exporters and the SDK read the rest of the
// standard variables themselves: endpoints, headers, timeouts, certificates,
// the sampler, the batch sizes.
func (t *Telemetry) startTraces(ctx context.Context, res *resource.Resource) error {
	exporter, err := newSpanExporter(ctx)
	if err != nil {
		return err
	}
	if exporter == nil {
		t.Tracers = noop.NewTracerProvider()
		return nil
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithBatcher(exporter))
	t.Tracers = provider
	t.shutdown = append(t.shutdown, provider.Shutdown)
	return nil
}

// newSpanExporter is nil where nothing is to be exported. The specification
// would export to localhost when no endpoint is set; a process that nobody told
// where its traces go keeps them to itself.
func newSpanExporter(ctx context.Context) (sdktrace.SpanExporter, error) {
	switch exporter := os.Getenv("OTEL_TRACES_EXPORTER"); exporter {
	case "", "otlp":
	case "none":
		return nil, nil
	default:
		return nil, fmt.Errorf(`OTEL_TRACES_EXPORTER is %q; "otlp" and "none" are known`, exporter)
	}
	endpoint := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"))
	if endpoint == "" || disabled() {
		return nil, nil
	}
	protocol := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"))
	switch protocol {
	case "", "http/protobuf":
		return otlptracehttp.New(ctx)
	case "grpc":
		return otlptracegrpc.New(ctx)
	default:
		return nil, fmt.Errorf(`OTEL_EXPORTER_OTLP_PROTOCOL is %q; "http/protobuf" and "grpc" are known`, protocol)
	}
}
