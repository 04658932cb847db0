package jobs_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/holdfast-dev/holdfast/internal/jobs"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// bundle is an installation with what its workers report.
type bundle struct {
	*testkit.Installation
	admin *pgxpool.Pool // the control database's, as the superuser
	log   *syncBuffer
	spans *tracetest.SpanRecorder
	tel   *telemetry.Telemetry
}

func setUp(t *testing.T, databases int) *bundle {
	t.Helper()
	b := &bundle{Installation: testkit.Databases(t, databases), log: &syncBuffer{}, spans: tracetest.NewSpanRecorder()}
	b.admin = b.Admin(t, "control")
	b.tel = &telemetry.Telemetry{
		Log:     telemetry.NewLogger(b.log, slog.LevelInfo),
		Tracers: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(b.spans)),
		Meters:  metric.MeterProvider(metricnoop.NewMeterProvider()),
	}
	return b
}

// runner makes a worker with pools of its own. It is stopped at the latest when
// the test ends, and then at once.
func (b *bundle) runner(t *testing.T, domain jobs.Identity, change func(*jobs.Options)) *worker {
	t.Helper()
	router := b.Router(t, postgres.RoleWorker)
	options := jobs.Options{
		Control: router.Control(), Databases: router.Databases(), Telemetry: b.tel, Identity: domain,
		Leases:     &fakeLeases{},
		Records:    &fakeRecords{},
		Migrations: &fakeMigrations{},
		Purges:     &fakePurges{},
		Stocks:     &fakeStocks{},
		Build:      thisBuild,
		SweepEvery: time.Hour, // due once
	}
	if change != nil {
		change(&options)
	}
	runner, err := jobs.NewRunner(options)
	if err != nil {
		t.Fatal(err)
	}
	if err := runner.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := &worker{runner: runner}
	t.Cleanup(func() { w.stop(t) })
	return w
}

// worker is a runner that can be stopped more than once.
type worker struct {
	runner *jobs.Runner
	once   sync.Once
}

func (w *worker) stop(t *testing.T) {
	t.Helper()
	w.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := w.runner.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
}

// await waits until something is so.
func await(t *testing.T, what string, isSo func() bool) {
	t.Helper()
	awaitFor(t, 30*time.Second, what, isSo)
}

func awaitFor(t *testing.T, patience time.Duration, what string, isSo func() bool) {
	t.Helper()
	deadline := time.After(patience)
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for !isSo() {
		select {
		case <-deadline:
			t.Fatalf("waited in vain for: %s", what)
		case <-look.C:
		}
	}
}

// job is what River keeps of a job.
type job struct {
	Database string
	State    string
	Error    string
}

const sqlJobs = `
SELECT args->>'database', state::text, COALESCE(errors[array_upper(errors, 1)]->>'error', '') FROM river_job WHERE kind = $1 ORDER BY args->>'database', id`

// jobs are all of the sweep's, by database and then in order.
func (b *bundle) jobs(t *testing.T) []job {
	t.Helper()
	return b.jobsOf(t, jobs.IdentitySweep{}.Kind())
}

func (b *bundle) jobsOf(t *testing.T, kind string) (all []job) {
	t.Helper()
	rows, err := b.admin.Query(context.Background(), sqlJobs, kind)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var j job
		if err := rows.Scan(&j.Database, &j.State, &j.Error); err != nil {
			t.Fatal(err)
		}
		all = append(all, j)
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	return all
}

// awaitJobs waits until the sweep's jobs are these.
func (b *bundle) awaitJobs(t *testing.T, want ...job) {
	t.Helper()
	b.awaitJobsOf(t, jobs.IdentitySweep{}.Kind(), want...)
}

func (b *bundle) awaitJobsOf(t *testing.T, kind string, want ...job) {
	t.Helper()
	var last []job
	defer func() {
		if t.Failed() {
			t.Logf("the jobs are %+v", last)
		}
	}()
	await(t, "the jobs to be as they should", func() bool {
		last = b.jobsOf(t, kind)
		if len(last) != len(want) {
			return false
		}
		for i := range want {
			if last[i] != want[i] {
				return false
			}
		}
		return true
	})
}

func (b *bundle) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := b.admin.Exec(context.Background(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// syncBuffer may be written to and read at once.
type syncBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
