package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/jobs"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestRunSweep_IsAskedForOnceAndLinkedToItsRequest(t *testing.T) {
	t.Parallel()
	s := newStack(t, 2)
	// A process that traces: it exports to nobody.
	r := s.spawn(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1")
	operator := s.operator(t, r)
	run := func(already bool) (requestID string) {
		t.Helper()
		answer, err := operator.RunSweepWithResponse(t.Context(), holdfast.SweepKindIdentity)
		if err != nil {
			t.Fatal(err)
		}
		want := []holdfast.AskedSweep{{Database: "data1", AlreadyAsked: already}, {Database: "data2", AlreadyAsked: already}}
		if diff := cmp.Diff(want, answer.JSON202.Databases); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
		return answer.HTTPResponse.Header.Get("X-Request-Id")
	}
	request := run(false)
	run(true)

	var asked string // the request's trace
	eventually(t, "the log has the request", func() bool { asked = r.traceOf(request); return asked != "" })
	works := s.workSweeps(t)
	eventually(t, "a sweep of each database is linked to the request", func() bool { return works(asked) == 2 })
}

// traceOf is the id of the trace that a request ran in, as its line in the log
// tells; "" before there is one.
func (r *running) traceOf(requestID string) string {
	for line := range strings.Lines(r.log.String()) {
		var entry struct {
			RequestID string `json:"request_id"`
			TraceID   string `json:"trace_id"`
		}
		if json.Unmarshal([]byte(line), &entry) == nil && entry.RequestID == requestID {
			return entry.TraceID
		}
	}
	return ""
}

// workSweeps works the jobs as a worker would, until the test ends. What it
// returns counts the sweeps that are done and linked to a trace.
func (s *stack) workSweeps(t *testing.T) (linkedTo func(trace string) int) {
	t.Helper()
	router := s.installation.Router(t, postgres.RoleWorker)
	spans := tracetest.NewSpanRecorder()
	store := tenancy.NewStore(router.Control(), nil, nil, time.Now)
	bodies := testkit.OpenBodies(t, testkit.BodyStore(t))
	runner, err := jobs.NewRunner(jobs.Options{
		Control:   router.Control(),
		Databases: router.Databases(),
		Telemetry: &telemetry.Telemetry{
			Log:     slog.New(slog.DiscardHandler),
			Tracers: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)),
			Meters:  metricnoop.NewMeterProvider(),
		},
		Identity:   identity.New(router, nil, identity.Options{}),
		Leases:     lease.New(router, nil, lease.Options{Purpose: tenancy.Maintain, Signer: tenancy.NewCheckpointKeys(store)}),
		Records:    record.New(router, nil, bodies, record.Options{Purpose: tenancy.Maintain}),
		Migrations: migration.New(router, store, record.New(router, nil, bodies, record.Options{}), migration.Options{}),
		SweepEvery: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := runner.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := runner.Stop(context.Background()); err != nil {
			t.Errorf("stop working: %v", err)
		}
	})
	return func(trace string) (linked int) {
		for _, span := range spans.Ended() {
			for _, link := range span.Links() {
				if span.Name() == "river.work/identity_sweep" && link.SpanContext.TraceID().String() == trace {
					linked++
				}
			}
		}
		return linked
	}
}
