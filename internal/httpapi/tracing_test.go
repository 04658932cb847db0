package httpapi

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

func attributes(set []attribute.KeyValue) map[string]string {
	m := make(map[string]string)
	for _, kv := range set {
		m[string(kv.Key)] = kv.Value.String()
	}
	return m
}

func TestTracing_SpansNameTheTemplateAndNothingPersonal(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	a := newTestAPI(t, testOptions{tracers: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))})
	a.do(t, request{method: "GET", target: accountPath})
	a.do(t, request{method: "GET", target: "/v1/people/ada@example.com?q=ada"})
	a.do(t, request{method: "BREW", target: "/livez"})
	a.form(t, "revoke", "token=rt&"+theClientID)
	a.directory.err = errors.New("broken")
	a.do(t, request{method: "GET", target: accountPath})

	type span struct {
		Name       string
		Kind       trace.SpanKind
		Status     codes.Code
		Attributes map[string]string
	}
	var got []span
	for _, s := range recorder.Ended() {
		got = append(got, span{s.Name(), s.SpanKind(), s.Status().Code, attributes(s.Attributes())})
	}
	base := func(method, status string, more ...string) map[string]string {
		m := map[string]string{"http.request.method": method, "url.scheme": "http", "network.protocol.version": "1.1", "http.response.status_code": status}
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	const template = "/v1/accounts/{account_id}"
	want := []span{
		{"GET " + template, trace.SpanKindServer, codes.Unset, base("GET", "200", "http.route", template, "holdfast.tenant_id", testTenant.String())},
		{"GET", trace.SpanKindServer, codes.Unset, base("GET", "404")},
		{"_OTHER", trace.SpanKindServer, codes.Unset, base("_OTHER", "405")},
		{"POST /v1/oauth/revoke", trace.SpanKindServer, codes.Unset, base("POST", "200", "http.route", "/v1/oauth/revoke", "holdfast.tenant_id", testTenant.String())},
		{"GET " + template, trace.SpanKindServer, codes.Error, base("GET", "500", "http.route", template, "error.type", "500", "holdfast.tenant_id", testTenant.String())},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

func TestTracing_APublicCallersTraceIsLinkedAndItsSamplingIsNotObeyed(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	sampleNothing := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder), sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.NeverSample())))
	const sampled = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	newTestAPI(t, testOptions{tracers: sampleNothing}).do(t, request{method: "GET", target: "/livez", headers: []string{sampled}})
	if n := len(recorder.Ended()); n != 0 {
		t.Errorf("a caller made us record %d spans", n)
	}

	sampleAll := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	a := newTestAPI(t, testOptions{tracers: sampleAll})
	a.do(t, request{method: "GET", target: "/livez", headers: []string{"traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"}})
	spans := recorder.Ended()
	if len(spans) != 1 {
		t.Fatalf("%d spans", len(spans))
	}
	if spans[0].SpanContext().TraceID().String() == "0af7651916cd43dd8448eb211c80319c" || spans[0].Parent().IsValid() {
		t.Error("the caller's trace was continued")
	}
	if links := spans[0].Links(); len(links) != 1 || links[0].SpanContext.SpanID().String() != "b7ad6b7169203331" {
		t.Errorf("links are %v", links)
	}
}

func TestTracing_DurationsAreCountedByTemplateMethodAndStatus(t *testing.T) {
	t.Parallel()
	reader := sdkmetric.NewManualReader()
	a := newTestAPI(t, testOptions{meters: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))})
	for range 3 {
		a.do(t, request{method: "GET", target: accountPath})
	}
	a.do(t, request{method: "GET", target: "/v1/accounts/x"})

	var collected metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &collected); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]uint64)
	for _, m := range collected.ScopeMetrics[0].Metrics {
		if strings.HasPrefix(m.Name, "holdfast.") {
			continue
		}
		if m.Name != "http.server.request.duration" || m.Unit != "s" {
			t.Fatalf("metric %s in %s", m.Name, m.Unit)
		}
		for _, point := range m.Data.(metricdata.Histogram[float64]).DataPoints {
			if len(point.Bounds) != len(durationBounds) {
				t.Errorf("bounds are %v", point.Bounds)
			}
			labels := attributes(point.Attributes.ToSlice())
			got[labels["http.request.method"]+" "+labels["http.route"]+" "+labels["http.response.status_code"]] = point.Count
		}
	}
	want := map[string]uint64{"GET /v1/accounts/{account_id} 200": 3, "GET /v1/accounts/{account_id} 404": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}
