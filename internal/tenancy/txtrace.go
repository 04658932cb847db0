package tenancy

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

const instrumentation = "github.com/holdfast-dev/holdfast/internal/tenancy"

// controlName is the control database, where spans name a transaction's.
const controlName = "control"

// startTx begins a transaction's span within ctx's, if that is recorded; else it
// costs nothing. Its statements' spans are within it.
func startTx(ctx context.Context, tenant domain.TenantID, database string, purpose Purpose) (context.Context, trace.Span) {
	outer := trace.SpanFromContext(ctx)
	if !outer.IsRecording() {
		return ctx, noop.Span{}
	}
	attrs := []attribute.KeyValue{semconv.DBSystemNamePostgreSQL, attribute.String("holdfast.database", database)}
	if !tenant.IsZero() {
		attrs = append(attrs, attribute.String("holdfast.tenant_id", tenant.String()))
	}
	if purpose != "" {
		attrs = append(attrs, attribute.String("holdfast.purpose", string(purpose)))
	}
	return outer.TracerProvider().Tracer(instrumentation).Start(ctx, "transaction", trace.WithAttributes(attrs...))
}

func endTx(span trace.Span, err error) {
	markFailed(span, err)
	span.End()
}

// markFailed says by its code what went wrong. An error's text may be about a
// value, and a refusal is an answer like any other.
func markFailed(span trace.Span, err error) {
	if err == nil || !span.IsRecording() {
		return
	}
	span.SetAttributes(semconv.ErrorTypeKey.String(errorType(err)))
	switch domain.KindOf(err) {
	case domain.KindInternal, domain.KindUnavailable, domain.KindOutcomeUnknown:
		span.SetStatus(codes.Error, "")
	}
}

// errorType is one of few words.
func errorType(err error) string {
	switch code := domain.CodeOf(err); {
	case code != "":
		return code
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "_OTHER" // as the semantic conventions have it
}
