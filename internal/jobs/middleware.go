package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

// jobContext names the job and its tenant in the log lines of its work, and the
// tenant on its span, and logs its failure while its trace is still at hand.
type jobContext struct {
	river.MiddlewareDefaults
	log *slog.Logger
}

func (m *jobContext) Work(ctx context.Context, job *rivertype.JobRow, inner func(context.Context) error) error {
	ctx = telemetry.With(ctx, slog.Int64("job_id", job.ID), slog.String("job_kind", job.Kind))
	if tenant := tenantOf(job); tenant != "" {
		ctx = telemetry.With(ctx, slog.String("tenant_id", tenant))
		trace.SpanFromContext(ctx).SetAttributes(attribute.String("holdfast.tenant_id", tenant))
	}
	begun := time.Now()
	err := inner(ctx)
	m.log.DebugContext(ctx, "job worked", "attempt", job.Attempt, "took", time.Since(begun))
	var snooze *rivertype.JobSnoozeError
	if err == nil || errors.As(err, &snooze) || errors.Is(err, context.Canceled) {
		return err // done, to go on, or stopped
	}
	m.log.ErrorContext(ctx, "job failed", "attempt", job.Attempt, "error", err)
	return &failure{err}
}

// tenantOf is whose job it is, as its arguments have it; "" for one that is all
// tenants'.
func tenantOf(job *rivertype.JobRow) string {
	var args struct {
		Tenant string `json:"tenant"`
	}
	if json.Unmarshal(job.EncodedArgs, &args) != nil {
		return ""
	}
	return args.Tenant
}

// failure is the error of a job, as River keeps it with the job: without values
// that may be a person's. It has been logged.
type failure struct{ err error }

func (f *failure) Error() string { return telemetry.ErrorText(f.err) }
func (f *failure) Unwrap() error { return f.err }

// errorHandler logs what jobContext didn't see: panics, and jobs that reached
// no worker. River then does as the kind's attempts say.
type errorHandler struct{ log *slog.Logger }

func (h *errorHandler) HandleError(ctx context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	var logged *failure
	if !errors.As(err, &logged) {
		h.log.ErrorContext(ctx, "job failed", "job_id", job.ID, "job_kind", job.Kind, "attempt", job.Attempt, "error", err)
	}
	return nil
}

func (h *errorHandler) HandlePanic(ctx context.Context, job *rivertype.JobRow, panicked any, stack string) *river.ErrorHandlerResult {
	h.log.ErrorContext(ctx, "job panicked", "job_id", job.ID, "job_kind", job.Kind, "attempt", job.Attempt,
		"panic", panicked, "stack", stack)
	return nil
}
