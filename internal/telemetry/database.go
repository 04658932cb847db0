package telemetry

import (
	"context"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
)

// QueryTracer reports statements: spans with their text, which names columns
// and numbers its arguments, and never with the arguments; and
// db.client.operation.duration.
func (t *Telemetry) QueryTracer() pgx.QueryTracer {
	return queryTracer{otelpgx.NewTracer(
		otelpgx.WithTracerProvider(t.Tracers),
		otelpgx.WithMeterProvider(t.Meters),
		otelpgx.WithDisableConnectionDetailsInAttributes(),
		otelpgx.WithDisableAcquireTracer(), // ObservePool tells the waiting, for less
	)}
}

// queryTracer has no error put on a span that quotes a value (ErrorText).
type queryTracer struct{ *otelpgx.Tracer }

func (t queryTracer) TraceQueryEnd(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryEndData) {
	data.Err = withoutValues(data.Err)
	t.Tracer.TraceQueryEnd(ctx, conn, data)
}

func (t queryTracer) TraceBatchQuery(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchQueryData) {
	data.Err = withoutValues(data.Err)
	t.Tracer.TraceBatchQuery(ctx, conn, data)
}

func (t queryTracer) TraceBatchEnd(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchEndData) {
	data.Err = withoutValues(data.Err)
	t.Tracer.TraceBatchEnd(ctx, conn, data)
}

func (t queryTracer) TraceCopyFromEnd(ctx context.Context, conn *pgx.Conn, data pgx.TraceCopyFromEndData) {
	data.Err = withoutValues(data.Err)
	t.Tracer.TraceCopyFromEnd(ctx, conn, data)
}

func (t queryTracer) TracePrepareEnd(ctx context.Context, conn *pgx.Conn, data pgx.TracePrepareEndData) {
	data.Err = withoutValues(data.Err)
	t.Tracer.TracePrepareEnd(ctx, conn, data)
}

// withoutValues is err with ErrorText for a text.
func withoutValues(err error) error {
	if err == nil {
		return nil
	}
	return plainError{err}
}

type plainError struct{ error }

func (e plainError) Error() string { return ErrorText(e.error) }
func (e plainError) Unwrap() error { return e.error }
