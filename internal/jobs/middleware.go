package jobs

import (
	"context"
	"errors"
	"log/slog"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

// jobContext names the job in the log lines of its work, and logs its failure
// while its trace is still at hand.
type jobContext struct {
	river.MiddlewareDefaults
	log *slog.Logger
}

func (m *jobContext) Work(ctx context.Context, job *rivertype.JobRow, inner func(context.Context) error) error {
	ctx = telemetry.With(ctx, slog.Int64("job_id", job.ID), slog.String("job_kind", job.Kind))
	err := inner(ctx)
	var snooze *rivertype.JobSnoozeError
	if err == nil || errors.As(err, &snooze) || errors.Is(err, context.Canceled) {
		return err // done, to go on, or stopped
	}
	m.log.ErrorContext(ctx, "job failed", "attempt", job.Attempt, "error", err)
	return &failure{err}
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
