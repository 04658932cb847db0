package tenancy

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

func TestTransactionSpan_NamesItsTenantAndTellsFailuresByTheirCode(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	ctx, request := tracers.Tracer("test").Start(t.Context(), "request")
	tenant := domain.NewID[domain.TenantKind](time.Now())
	for _, err := range []error{
		nil,
		domain.Conflict("handle_taken", "the handle ada is in use"),
		domain.Unavailable("database_busy", "Try again.").Because(errors.New("ada@example.com")),
		errors.New("ada@example.com"),
		context.Canceled,
	} {
		_, span := startTx(ctx, tenant, "data1", Serve)
		endTx(span, err)
	}
	request.End()

	type told struct {
		Status codes.Code
		Type   string
	}
	var got []told
	for _, span := range recorder.Ended() {
		if span.Name() != "transaction" {
			continue
		}
		labels := map[string]string{}
		for _, a := range span.Attributes() {
			labels[string(a.Key)] = a.Value.String()
		}
		if labels["holdfast.tenant_id"] != tenant.String() || labels["holdfast.database"] != "data1" || labels["holdfast.purpose"] != "serve" {
			t.Errorf("attributes are %v", labels)
		}
		if span.Parent().SpanID() != request.SpanContext().SpanID() || len(span.Events()) > 0 || span.Status().Description != "" {
			t.Errorf("it isn't the request's, or has a text: %+v", span.Status())
		}
		got = append(got, told{span.Status().Code, labels["error.type"]})
	}
	want := []told{{codes.Unset, ""}, {codes.Unset, "handle_taken"}, {codes.Error, "database_busy"}, {codes.Error, "_OTHER"}, {codes.Error, "canceled"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestTransactionSpan_CostsNothingWhereNothingIsRecorded(t *testing.T) {
	ctx, tenant := t.Context(), domain.NewID[domain.TenantKind](time.Now())
	failed := errors.New("failed")
	allocations := testing.AllocsPerRun(100, func() {
		_, span := startTx(ctx, tenant, "data1", Serve)
		endTx(span, failed)
	})
	if allocations > 0 {
		t.Errorf("a transaction's span makes %v allocations", allocations)
	}
}
