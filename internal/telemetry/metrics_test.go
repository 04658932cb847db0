package telemetry_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"
)

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(content)
}

func TestPrivatePort_ServesMetricsUnderTheConventionsNames(t *testing.T) {
	setenv(t, nil)
	tel := start(t, io.Discard)
	requests, err := httpconv.NewServerRequestDuration(tel.Meters.Meter("test"), metric.WithExplicitBucketBoundaries(0.005, 1))
	if err != nil {
		t.Fatal(err)
	}
	requests.Record(t.Context(), 0.2, httpconv.RequestMethodGet, "http", requests.AttrRoute("/v1/accounts/{account_id}"))

	private, err := tel.ServePrivate(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	status, body := get(t, "http://"+private.Address()+"/metrics")
	if status != http.StatusOK {
		t.Fatalf("/metrics answers %d: %s", status, body)
	}
	for _, want := range []string{
		`http_server_request_duration_seconds_bucket{http_request_method="GET",http_route="/v1/accounts/{account_id}",url_scheme="http",le="0.005"} 0`,
		`http_server_request_duration_seconds_bucket{http_request_method="GET",http_route="/v1/accounts/{account_id}",url_scheme="http",le="1"} 1`,
		`target_info{`, `service_name="holdfast-test"`, `service_version="v1"`,
		"go_goroutines ", "process_cpu_seconds_total ",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	if status, body := get(t, "http://"+private.Address()+"/livez"); status != http.StatusOK || body != "ok\n" {
		t.Errorf("/livez answers %d %q", status, body)
	}
	if status, _ := get(t, "http://"+private.Address()+"/"); status != http.StatusNotFound {
		t.Errorf("/ answers %d, want 404", status)
	}

	if err := private.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := http.Get("http://" + private.Address() + "/livez"); err == nil {
		t.Error("the private port still listens after Shutdown")
	}
}

func TestPrivatePort_AnAddressThatIsTakenIsAnError(t *testing.T) {
	setenv(t, nil)
	tel := start(t, io.Discard)
	private, err := tel.ServePrivate(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer private.Shutdown(context.Background())
	if second, err := tel.ServePrivate(t.Context(), private.Address()); err == nil {
		second.Shutdown(t.Context())
		t.Error("two servers listen on one address")
	}
}

func TestMetrics_RiversDurationsHaveBoundsInSecondsAndNoOpenLabels(t *testing.T) {
	setenv(t, nil)
	tel := start(t, io.Discard)
	durations, err := tel.Meters.Meter("github.com/riverqueue/rivercontrib/otelriver").
		Float64Histogram("messaging.process.duration", metric.WithUnit("s"))
	if err != nil {
		t.Fatal(err)
	}
	durations.Record(t.Context(), 0.02, metric.WithAttributes(
		attribute.String("kind", "identity_sweep"), attribute.StringSlice("tag", []string{"tenant"}), attribute.Int("attempt", 3)))

	response := httptest.NewRecorder()
	tel.Metrics.ServeHTTP(response, httptest.NewRequest("GET", "/metrics", nil))
	if want := `messaging_process_duration_seconds_bucket{kind="identity_sweep",le="0.025"} 1`; !strings.Contains(response.Body.String(), want) {
		t.Errorf("/metrics lacks %s", want)
	}
}

func TestMetrics_DisabledMeansNone(t *testing.T) {
	setenv(t, map[string]string{"OTEL_SDK_DISABLED": "true"})
	response := httptest.NewRecorder()
	start(t, io.Discard).Metrics.ServeHTTP(response, httptest.NewRequest("GET", "/metrics", nil))
	if response.Code != http.StatusNotFound {
		t.Errorf("/metrics answers %d, want 404", response.Code)
	}
}
