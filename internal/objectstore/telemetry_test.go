package objectstore_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/holdfast-dev/holdfast/internal/objectstore"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestTelemetry_TellsRequestsByOperationAndOutcome(t *testing.T) {
	t.Parallel()
	reader, spans := sdkmetric.NewManualReader(), tracetest.NewSpanRecorder()
	network := testkit.NewStoreFaults(t)
	b := &bed{StoreFaults: network, prefix: testkit.BodyPrefix(t)}
	var err error
	b.Bucket, err = objectstore.Open(t.Context(), network.Through(testkit.BodyStore(t)), objectstore.Options{
		Tracers: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)),
		Meters:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)),
	})
	if err != nil {
		t.Fatal(err)
	}

	x := b.random(100)
	b.On(http.MethodPut, testkit.Refuse(503, "SlowDown", 0))
	b.store(t, x)
	b.On(http.MethodGet, testkit.WrongBytes())
	_, err = b.fetch(t.Context(), x)
	wantCode(t, err, isCorrupt)
	_, err = b.fetch(t.Context(), b.random(1))
	wantCode(t, err, isMissing)

	var got metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{
		"rpc.client.call.duration S3/PutObject throttled": 1,
		"rpc.client.call.duration S3/PutObject ":          1,
		"rpc.client.call.duration S3/GetObject ":          1,
		"rpc.client.call.duration S3/GetObject corrupt":   1,
		"rpc.client.call.duration S3/GetObject missing":   1,
		"holdfast.bodies.retries S3/PutObject ":           1,
		"holdfast.bodies.corrupt  ":                       1,
		"holdfast.bodies.concurrency.limit  ":             64, // of 128, since the store said that it had too much
		"holdfast.bodies.concurrency.used  ":              0,
	}
	if diff := cmp.Diff(want, points(got)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	if text := fmt.Sprint(got); strings.Contains(text, "tenants/") || strings.Contains(text, x.key) {
		t.Errorf("the metrics tell a key: %s", text)
	}

	var names []string
	for _, s := range spans.Ended() {
		attributes := attribute.NewSet(s.Attributes()...)
		key, _ := attributes.Value("aws.s3.key")
		if s.Name() != "S3/PutObject" && s.Name() != "S3/GetObject" || !strings.HasPrefix(key.AsString(), b.prefix) {
			t.Errorf("span %s has %v", s.Name(), s.Attributes())
		}
		wrong, _ := attributes.Value("error.type")
		names = append(names, s.Name()+" "+wrong.AsString()+" "+s.Status().Code.String())
	}
	wantSpans := []string{
		"S3/PutObject throttled Error", "S3/PutObject  Unset", "S3/GetObject  Unset",
		"S3/GetObject corrupt Error", "S3/GetObject missing Error",
	}
	if diff := cmp.Diff(wantSpans, names); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// points are the values by metric, operation and outcome; a histogram's is its
// count.
func points(all metricdata.ResourceMetrics) map[string]int64 {
	values := map[string]int64{}
	note := func(name string, attributes attribute.Set, value int64) {
		method, _ := attributes.Value("rpc.method")
		wrong, _ := attributes.Value("error.type")
		values[name+" "+method.AsString()+" "+wrong.AsString()] = value
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					note(m.Name, p.Attributes, int64(p.Count))
				}
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					if p.Value > 0 { // they are there from the beginning
						note(m.Name, p.Attributes, p.Value)
					}
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					note(m.Name, p.Attributes, p.Value)
				}
			}
		}
	}
	return values
}
