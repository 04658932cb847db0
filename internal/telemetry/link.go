package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Traceparent is ctx's trace as W3C Trace Context spells it, to be kept with a
// thing that is finished later; "" without a trace.
func Traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// StartLinked starts a span that is linked to the trace in which its cause was
// written down. Recovery is its own trace: the request that prepared the work
// may be gone for hours. A traceparent that is empty or unreadable is no link.
func StartLinked(ctx context.Context, tracer trace.Tracer, name, traceparent string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	if cause := spanContextOf(traceparent); cause.IsValid() {
		o = append(o, trace.WithLinks(trace.Link{SpanContext: cause}))
	}
	return tracer.Start(ctx, name, o...)
}

func spanContextOf(traceparent string) trace.SpanContext {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": traceparent})
	return trace.SpanContextFromContext(ctx)
}
