package telemetry_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

// export is what a collector was sent: the names of spans, by service.
type export struct {
	Service string
	Spans   []string
}

// receiver is a collector for one export, over both of OTLP's protocols.
type receiver struct {
	collector.UnimplementedTraceServiceServer
	exports chan export
}

func newReceiver() *receiver { return &receiver{exports: make(chan export, 16)} }

func (r *receiver) Export(_ context.Context, request *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	for _, resource := range request.ResourceSpans {
		var got export
		for _, attribute := range resource.Resource.Attributes {
			if attribute.Key == "service.name" {
				got.Service = attribute.Value.GetStringValue()
			}
		}
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				got.Spans = append(got.Spans, span.Name)
			}
		}
		r.exports <- got
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body := io.Reader(request.Body)
	if request.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(request.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unzipped
	}
	content, err := io.ReadAll(body)
	var decoded collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(content, &decoded)
	}
	if err != nil || request.URL.Path != "/v1/traces" {
		http.Error(w, request.URL.Path, http.StatusBadRequest)
		return
	}
	r.Export(request.Context(), &decoded)
}

func start(t *testing.T, out io.Writer) *telemetry.Telemetry {
	t.Helper()
	tel, err := telemetry.Start(t.Context(), telemetry.Options{Service: "holdfast-test", Version: "v1", Output: out})
	if err != nil {
		t.Fatal(err)
	}
	return tel
}

// traceOne makes one span, sends what is to be sent, and tells what the span was.
func traceOne(t *testing.T, tel *telemetry.Telemetry) trace.SpanContext {
	t.Helper()
	_, span := tel.Tracers.Tracer("test").Start(t.Context(), "work")
	span.End()
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	return span.SpanContext()
}

func TestTraces_GoWhereTheStandardVariablesSay(t *testing.T) {
	overHTTP, overGRPC := newReceiver(), newReceiver()
	web := httptest.NewServer(overHTTP)
	defer web.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, overGRPC)
	go server.Serve(listener)
	defer server.Stop()

	for _, c := range []struct {
		name     string
		receiver *receiver
		env      map[string]string
		want     export
	}{
		{"http by default", overHTTP, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": web.URL},
			export{"holdfast-test", []string{"work"}}},
		{"http, gzipped, to the endpoint for traces, under another name", overHTTP, map[string]string{
			"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": web.URL + "/v1/traces",
			"OTEL_EXPORTER_OTLP_PROTOCOL":        "http/protobuf",
			"OTEL_EXPORTER_OTLP_COMPRESSION":     "gzip",
			"OTEL_SERVICE_NAME":                  "renamed",
		}, export{"renamed", []string{"work"}}},
		{"grpc", overGRPC, map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + listener.Addr().String(),
			"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
		}, export{"holdfast-test", []string{"work"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			setenv(t, c.env)
			traceOne(t, start(t, io.Discard)) // its shutdown waits for the export
			select {
			case got := <-c.receiver.exports:
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("export (-want +got):\n%s", diff)
				}
			default:
				t.Error("nothing was exported")
			}
		})
	}
}

func TestTraces_NothingIsRecordedOrSentUnlessAsked(t *testing.T) {
	r := newReceiver()
	web := httptest.NewServer(r)
	defer web.Close()
	for _, c := range []struct {
		name string
		env  map[string]string
	}{
		{"no endpoint", nil},
		{"disabled", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": web.URL, "OTEL_SDK_DISABLED": "true"}},
		{"no exporter", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": web.URL, "OTEL_TRACES_EXPORTER": "none"}},
		{"sampled out", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": web.URL, "OTEL_TRACES_SAMPLER": "always_off"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			setenv(t, c.env)
			if traceOne(t, start(t, io.Discard)).IsSampled() {
				t.Error("the span was recorded")
			}
			if len(r.exports) > 0 {
				t.Errorf("exported %v", <-r.exports)
			}
		})
	}
}

func TestTraces_AnIncomingTracePassesThroughWithoutEndpoint(t *testing.T) {
	setenv(t, nil)
	tel := start(t, io.Discard)
	const incoming = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	ctx := tel.Propagator.Extract(t.Context(), propagation.MapCarrier{"traceparent": incoming})
	ctx, span := tel.Tracers.Tracer("test").Start(ctx, "work")
	defer span.End()
	outgoing := propagation.MapCarrier{}
	tel.Propagator.Inject(ctx, outgoing)
	if got := outgoing["traceparent"]; got != incoming {
		t.Errorf("traceparent is %q, want the caller's, %q", got, incoming)
	}
}

func TestStart_RefusesWhatItCannotHonour(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"OTEL_TRACES_EXPORTER":        {"OTEL_TRACES_EXPORTER": "zipkin"},
		"OTEL_EXPORTER_OTLP_PROTOCOL": {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			setenv(t, env)
			_, err := telemetry.Start(t.Context(), telemetry.Options{Service: "s", Output: io.Discard})
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("the error is %v, want one that names %s", err, name)
			}
		})
	}
}

func TestTraces_ACollectorThatIsDownIsLoggedAndStopsNothing(t *testing.T) {
	setenv(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_TIMEOUT": "200"})
	var log bytes.Buffer
	tel := start(t, &log)
	_, span := tel.Tracers.Tracer("test").Start(t.Context(), "work")
	span.End()
	if err := tel.Shutdown(t.Context()); err == nil && !strings.Contains(log.String(), "telemetry was lost") {
		t.Errorf("the loss was told nowhere; the log is %q", log.String())
	}
}

// setenv makes env the only OTEL_… variables.
func setenv(t *testing.T, env map[string]string) {
	t.Helper()
	for _, name := range []string{
		"OTEL_SDK_DISABLED", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_TRACES_EXPORTER", "OTEL_TRACES_SAMPLER",
		"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_PROTOCOL",
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_COMPRESSION", "OTEL_EXPORTER_OTLP_TIMEOUT",
	} {
		t.Setenv(name, env[name])
	}
}
