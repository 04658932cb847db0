package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

// logged runs say with a logger and gives the one line that it wrote, without
// its time.
func logged(t *testing.T, say func(log *slog.Logger)) map[string]any {
	t.Helper()
	var out bytes.Buffer
	say(telemetry.NewLogger(&out, slog.LevelInfo))
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("the log is not one JSON line: %v: %q", err, out.String())
	}
	if _, err := time.Parse(time.RFC3339Nano, fmt.Sprint(line["time"])); err != nil {
		t.Errorf("time: %v", err)
	}
	delete(line, "time")
	return line
}

func TestLog_CarriesTheIdsOfTheContext(t *testing.T) {
	t.Parallel()
	ctx, span := sdktrace.NewTracerProvider().Tracer("test").Start(context.Background(), "request")
	defer span.End()
	ctx = telemetry.With(ctx, slog.String("request_id", "r1"), slog.String("tenant_id", "t1"))
	ctx = telemetry.With(ctx, slog.Int64("job_id", 7))

	got := logged(t, func(log *slog.Logger) {
		log.With("service", "api").WithGroup("sweep").With("family", "handle").InfoContext(ctx, "done", "visited", 3)
	})
	want := map[string]any{
		"level": "INFO", "msg": "done", "service": "api",
		"trace_id": span.SpanContext().TraceID().String(), "span_id": span.SpanContext().SpanID().String(),
		"request_id": "r1", "tenant_id": "t1", "job_id": float64(7),
		"sweep.family": "handle", "sweep.visited": float64(3),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
}

func TestLog_ContextsDoNotShareAttributes(t *testing.T) {
	t.Parallel()
	parent := telemetry.With(context.Background(), slog.String("request_id", "r1"))
	one := telemetry.With(parent, slog.String("tenant_id", "one"))
	telemetry.With(parent, slog.String("tenant_id", "other"))

	got := logged(t, func(log *slog.Logger) { log.InfoContext(one, "x") })
	if got["tenant_id"] != "one" {
		t.Errorf("tenant_id is %v, want one", got["tenant_id"])
	}
}

func TestLog_TextPassesOnlyUnderListedKeys(t *testing.T) {
	t.Parallel()
	got := logged(t, func(log *slog.Logger) {
		log.Info("x",
			"email", "ann@example.com",
			"bytes", []byte("ann"),
			"body", struct{ Handle string }{"ann"},
			slog.Group("route", "email", "ann@example.com", "attempts", 2),
			"took", 3*time.Second, "kind", "identity_sweep")
	})
	want := map[string]any{
		"level": "INFO", "msg": "x",
		"email": "[redacted]", "bytes": "[redacted]", "body": "[redacted]",
		"route": map[string]any{"email": "[redacted]", "attempts": float64(2)},
		"took":  float64(3 * time.Second), "kind": "identity_sweep",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
}

func TestLog_ErrorsTellNoValueThatTheDatabaseQuoted(t *testing.T) {
	t.Parallel()
	quoting := &pgconn.PgError{Severity: "ERROR", Code: "22P02", Message: `invalid input syntax for type uuid: "ann@example.com"`}
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("plain"), "plain"},
		{fmt.Errorf("prepare: %w", quoting), "prepare: SQLSTATE 22P02"},
		{domain.Unavailable("database_busy", "Try again.").Because(quoting), "unavailable: database_busy: Try again.: SQLSTATE 22P02"},
		{&pgconn.PgError{Severity: "ERROR", Code: "40P01", Message: "deadlock detected"}, "ERROR: deadlock detected (SQLSTATE 40P01)"},
	} {
		got := logged(t, func(log *slog.Logger) { log.Info("x", "error", c.err) })
		if got["error"] != c.want {
			t.Errorf("error is %q, want %q", got["error"], c.want)
		}
	}
}

func TestLog_LevelIsTheOneAskedFor(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	telemetry.NewLogger(&out, slog.LevelWarn).Info("x")
	if out.Len() > 0 {
		t.Errorf("a line under the level was written: %s", out.String())
	}
}
