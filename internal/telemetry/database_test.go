package telemetry_test

import (
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func TestQueryTracer_SpansHaveTheStatementAndNoValue(t *testing.T) {
	setenv(t, nil)
	tel := start(t, io.Discard)
	recorder := tracetest.NewSpanRecorder()
	tel.Tracers = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	tracer := tel.QueryTracer()
	batches, ofBatches := tracer.(pgx.BatchTracer)
	if !ofBatches {
		t.Fatal("batches are not traced")
	}
	const statement = `SELECT account_id FROM accounts WHERE email = $1`
	quoting := &pgconn.PgError{Severity: "ERROR", Code: "22P02", Message: `invalid input syntax for type uuid: "ann@example.com"`}

	ctx, request := tel.Tracers.Tracer("test").Start(t.Context(), "request")
	end := func(ctx context.Context) {
		tracer.TraceQueryEnd(ctx, nil, pgx.TraceQueryEndData{Err: quoting})
	}
	end(tracer.TraceQueryStart(ctx, nil, pgx.TraceQueryStartData{SQL: statement, Args: []any{"ann@example.com"}}))
	batch := &pgx.Batch{}
	batch.Queue(statement, "ann@example.com")
	inBatch := batches.TraceBatchStart(ctx, nil, pgx.TraceBatchStartData{Batch: batch})
	batches.TraceBatchQuery(inBatch, nil, pgx.TraceBatchQueryData{SQL: statement, Args: []any{"ann@example.com"}, Err: quoting})
	batches.TraceBatchEnd(inBatch, nil, pgx.TraceBatchEndData{Err: quoting})
	request.End()

	texts, failures := 0, 0
	for _, span := range recorder.Ended() {
		told := span.Status().Description
		for _, a := range span.Attributes() {
			told += " " + a.Value.String()
			if string(a.Key) == "db.query.text" && a.Value.AsString() == statement {
				texts++
			}
		}
		for _, event := range span.Events() {
			for _, a := range event.Attributes {
				told += " " + a.Value.String()
			}
		}
		if strings.Contains(told, "ann") {
			t.Errorf("the span %s says %s", span.Name(), told)
		}
		if strings.Contains(told, "22P02") {
			failures++
		}
	}
	if texts != 2 || failures != 3 {
		t.Errorf("%d spans have the statement, want 2, and %d its SQLSTATE, want 3", texts, failures)
	}
}

// turns are those of a pool at which three have waited for two seconds, one in vain.
type turns struct{}

func (turns) Waits() (times, givenUp int64, together time.Duration) { return 3, 1, 2 * time.Second }

func TestObservePool_TellsOfConnectionsByTheConventionsNames(t *testing.T) {
	setenv(t, nil)
	tel := start(t, io.Discard)
	config, err := pgxpool.ParseConfig("postgres://127.0.0.1:1/none?pool_max_conns=7")
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config) // it connects to nothing yet
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if err := tel.ObservePool("data1", pool, turns{}); err != nil {
		t.Fatal(err)
	}
	response := httptest.NewRecorder()
	tel.Metrics.ServeHTTP(response, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`db_client_connection_max{db_client_connection_pool_name="data1"} 7`,
		`db_client_connection_count{db_client_connection_pool_name="data1",db_client_connection_state="used"} 0`,
		`db_client_connection_count{db_client_connection_pool_name="data1",db_client_connection_state="idle"} 0`,
		`db_client_connection_timeouts_total{db_client_connection_pool_name="data1"} 1`,
		`holdfast_db_pool_waits_total{db_client_connection_pool_name="data1"} 3`,
		`holdfast_db_pool_waited_seconds_total{db_client_connection_pool_name="data1"} 2`,
		`holdfast_build_info{go_version="go`,
	} {
		if !strings.Contains(response.Body.String(), want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}
