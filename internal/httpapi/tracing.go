package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"
	"go.opentelemetry.io/otel/trace"
)

const instrumentation = "github.com/holdfast-dev/holdfast/internal/httpapi"

// durationBounds are those that the HTTP conventions give, in seconds.
var durationBounds = []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}

// tracing reports each request by the HTTP semantic conventions: a server span
// and http.server.request.duration. Both name the route's template, and neither
// has the path, the query or the caller's address. Problems are counted besides,
// by their codes, of which one status has many.
type tracing struct {
	tracer   trace.Tracer
	duration httpconv.ServerRequestDuration
	problems metric.Int64Counter
	codes    sync.Map // a problem's code to metric.MeasurementOption: bounded by the codes that there are
	sets     sync.Map // outcome to attribute.Set: bounded by operations, statuses and protocols
}

// outcome is what the metric tells requests apart by.
type outcome struct {
	operation *operation
	method    string
	scheme    string
	protocol  string
	status    int
}

func newTracing(tracers trace.TracerProvider, meters metric.MeterProvider) (*tracing, error) {
	meter := meters.Meter(instrumentation)
	duration, err := httpconv.NewServerRequestDuration(meter, metric.WithExplicitBucketBoundaries(durationBounds...))
	if err != nil {
		return nil, err
	}
	problems, err := meter.Int64Counter("holdfast.http.problems", metric.WithUnit("{problem}"),
		metric.WithDescription("Problems that were answered, by their code."))
	return &tracing{tracer: tracers.Tracer(instrumentation), duration: duration, problems: problems}, err
}

func (t *tracing) middleware(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		o := outcome{
			operation: callOf(r.Context()).operation,
			method:    knownMethod(r.Method),
			scheme:    c.Scheme(),
			protocol:  strconv.Itoa(r.ProtoMajor) + "." + strconv.Itoa(r.ProtoMinor),
		}
		begun := time.Now()
		ctx, span := t.start(r, o)
		defer span.End()
		c.SetRequest(r.WithContext(ctx))

		err := next(c)

		o.status = c.Response().Status
		if span.IsRecording() {
			span.SetAttributes(semconv.HTTPResponseStatusCode(o.status))
			if o.status >= http.StatusInternalServerError {
				span.SetAttributes(semconv.ErrorTypeKey.String(strconv.Itoa(o.status)))
				span.SetStatus(codes.Error, "")
			}
		}
		t.duration.RecordSet(ctx, time.Since(begun).Seconds(), t.set(o))
		if code := callOf(ctx).code; code != "" {
			t.problems.Add(ctx, 1, t.code(code))
		}
		return err
	}
}

// start begins a trace of our own. A public caller's traceparent is linked and
// not continued: its sampling decision must not become ours.
func (t *tracing) start(r *http.Request, o outcome) (context.Context, trace.Span) {
	name := o.method
	attrs := []attribute.KeyValue{
		semconv.HTTPRequestMethodKey.String(o.method),
		semconv.URLScheme(o.scheme),
		semconv.NetworkProtocolVersion(o.protocol),
	}
	if o.operation != nil {
		name += " " + o.operation.template
		attrs = append(attrs, semconv.HTTPRoute(o.operation.template))
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attrs...)}
	if remote := remoteSpan(r.Header); remote.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: remote}))
	}
	return t.tracer.Start(r.Context(), name, options...)
}

func remoteSpan(h http.Header) trace.SpanContext {
	if h.Get("Traceparent") == "" {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(h))
	return trace.SpanContextFromContext(ctx)
}

func (t *tracing) set(o outcome) attribute.Set {
	if set, known := t.sets.Load(o); known {
		return set.(attribute.Set)
	}
	attrs := []attribute.KeyValue{
		semconv.HTTPRequestMethodKey.String(o.method),
		semconv.URLScheme(o.scheme),
		semconv.NetworkProtocolVersion(o.protocol),
		semconv.HTTPResponseStatusCode(o.status),
	}
	if o.operation != nil {
		attrs = append(attrs, semconv.HTTPRoute(o.operation.template))
	}
	if o.status >= http.StatusInternalServerError {
		attrs = append(attrs, semconv.ErrorTypeKey.String(strconv.Itoa(o.status)))
	}
	set := attribute.NewSet(attrs...)
	t.sets.Store(o, set)
	return set
}

func (t *tracing) code(code string) metric.MeasurementOption {
	if labels, known := t.codes.Load(code); known {
		return labels.(metric.MeasurementOption)
	}
	labels := metric.WithAttributeSet(attribute.NewSet(attribute.String("code", code)))
	t.codes.Store(code, labels)
	return labels
}

// knownMethod keeps a caller from making up values of an attribute.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	default:
		return "_OTHER"
	}
}
