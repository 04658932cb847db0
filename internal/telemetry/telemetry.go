package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Options say whose telemetry it is and where its log goes.
type Options struct {
	Service  string // service.name, "holdfast-api" say; OTEL_SERVICE_NAME goes before it
	Version  string // service.version: the build
	LogLevel slog.Level
	Output   io.Writer // the log's; nil is standard error
}

// Telemetry is what a process's parts report to. The fields are handed to them
// as constructor arguments.
type Telemetry struct {
	Log        *slog.Logger
	Tracers    trace.TracerProvider
	Meters     metric.MeterProvider
	Propagator propagation.TextMapPropagator // W3C trace context and baggage
	Metrics    http.Handler                  // what Prometheus reads; for the private port only

	shutdown []func(context.Context) error
}

// Start makes the process's telemetry from the options and the standard OTEL_…
// variables. It connects to nothing: a collector that is down costs spans and
// never the start. It fails on a variable that it can't honour.
//
// Package otel keeps one provider of each sort for the whole process, for code
// that was handed none, and one handler of OpenTelemetry's own faults (a failed
// export, say). Start sets them to this telemetry and to the log.
func Start(ctx context.Context, o Options) (*Telemetry, error) {
	if o.Output == nil {
		o.Output = os.Stderr
	}
	t := &Telemetry{
		Log:        NewLogger(o.Output, o.LogLevel),
		Propagator: propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
	}
	res, err := newResource(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("telemetry resource: %w", err)
	}
	if err := t.startTraces(ctx, res); err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	if err := t.startMetrics(res, o.Version); err != nil {
		return nil, errors.Join(fmt.Errorf("metrics: %w", err), t.Shutdown(ctx))
	}
	t.setProcessWide()
	return t, nil
}

func (t *Telemetry) setProcessWide() {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		t.Log.Warn("telemetry was lost", "error", err)
	}))
	otel.SetTextMapPropagator(t.Propagator)
	otel.SetTracerProvider(t.Tracers)
	otel.SetMeterProvider(t.Meters)
}

// Shutdown sends what is still held and stops. It takes no longer than ctx
// allows.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	var errs []error
	for _, stop := range t.shutdown {
		errs = append(errs, stop(ctx))
	}
	return errors.Join(errs...)
}

// disabled tells whether OTEL_SDK_DISABLED asks for no telemetry but logs. Go's
// SDK leaves that variable to its users.
func disabled() bool { return strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") }
