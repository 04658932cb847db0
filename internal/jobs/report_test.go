package jobs_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/jobs"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

func (b *bundle) inserter(t *testing.T) *jobs.Inserter {
	t.Helper()
	inserter, err := jobs.NewInserter(b.Router(t, postgres.RoleAPI).Control(), b.tel)
	if err != nil {
		t.Fatal(err)
	}
	return inserter
}

func ask(t *testing.T, ctx context.Context, inserter *jobs.Inserter, databases ...string) []string {
	t.Helper()
	asked, err := inserter.IdentitySweep(ctx, databases...)
	if err != nil {
		t.Fatal(err)
	}
	return asked
}

func TestInsert_ASweepIsAskedForOnceAsLongAsItIsUnfinished(t *testing.T) {
	t.Parallel()
	b := setUp(t, 2)
	inserter := b.inserter(t)
	if asked := ask(t, t.Context(), inserter, "data1"); !slices.Equal(asked, []string{"data1"}) {
		t.Errorf("the first time asked for sweeps of %v, want data1", asked)
	}
	for _, state := range []string{"available", "running", "retryable", "scheduled"} {
		b.exec(t, `UPDATE river_job SET state = $1::text::river_job_state`, state)
		if asked := ask(t, t.Context(), inserter, "data1"); len(asked) != 0 {
			t.Errorf("beside one that is %s, sweeps of %v were asked for", state, asked)
		}
	}
	if asked := ask(t, t.Context(), inserter, "data1", "data2"); !slices.Equal(asked, []string{"data2"}) {
		t.Errorf("sweeps of %v were asked for, want data2's only", asked)
	}
	b.exec(t, `UPDATE river_job SET state = 'completed', finalized_at = now()`)
	if asked := ask(t, t.Context(), inserter, "data1", "data2"); len(asked) != 2 {
		t.Errorf("after the end of both, sweeps of %v were asked for", asked)
	}
	if asked := ask(t, t.Context(), inserter); len(asked) != 0 {
		t.Errorf("sweeps of %v were asked for without naming a database", asked)
	}
}

func TestInsert_WithoutTheControlDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	settings := b.Settings(postgres.RoleAPI)
	settings.Control = "postgres://127.0.0.1:1/nobody-listens"
	router, err := postgres.Open(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	defer router.Close()
	inserter, err := jobs.NewInserter(router.Control(), b.tel)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inserter.IdentitySweep(t.Context(), "data1"); domain.KindOf(err) != domain.KindUnavailable || domain.CodeOf(err) != "jobs_unavailable" {
		t.Errorf("error is %v", err)
	}
}

func TestTrace_TheWorkIsLinkedToTheRequestThatAskedForIt(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	request, span := b.tel.Tracers.Tracer("test").Start(t.Context(), "POST /v1/sweeps/identity/run")
	ask(t, request, b.inserter(t), "data1")
	span.End()

	recovering := &fakeIdentity{do: func(_ context.Context, s step) (identity.SweepStep, error) {
		return identity.SweepStep{Visited: 1, Recovered: 1, Done: true}, nil
	}}
	b.runner(t, recovering, nil)

	var work sdktrace.ReadOnlySpan // that of the request's job: the schedule may have asked for another
	await(t, "the span of the work, with a link to the request's trace", func() bool {
		for _, ended := range b.spans.Ended() {
			if ended.Name() != "river.work/identity_sweep" {
				continue
			}
			for _, link := range ended.Links() {
				if link.SpanContext.TraceID() == span.SpanContext().TraceID() {
					work = ended
				}
			}
		}
		return work != nil
	})
	if work.SpanContext().TraceID() == span.SpanContext().TraceID() {
		t.Error("the work runs in the request's trace, want one of its own")
	}
	if kind := work.SpanKind(); kind != trace.SpanKindConsumer {
		t.Errorf("the work's span is a %v", kind)
	}

	// What the job says carries its ids.
	var line struct {
		Msg, Database string
		JobKind       string `json:"job_kind"`
		JobID         int64  `json:"job_id"`
		TraceID       string `json:"trace_id"`
		Recovered     int
	}
	for _, text := range strings.Split(b.log.String(), "\n") {
		if strings.Contains(text, "unfinished work was recovered") && strings.Contains(text, work.SpanContext().TraceID().String()) {
			if err := json.Unmarshal([]byte(text), &line); err != nil {
				t.Fatal(err)
			}
		}
	}
	if line.JobKind != "identity_sweep" || line.JobID == 0 || line.TraceID != work.SpanContext().TraceID().String() || line.Database != "data1" {
		t.Errorf("the job's line is %+v", line)
	}
}

func TestMetrics_TellTheQueueTheScheduleTheLeaderAndTheSweeps(t *testing.T) {
	b := setUp(t, 2)
	tel, err := telemetry.Start(t.Context(), telemetry.Options{Service: "holdfast-test", LogLevel: slog.LevelError, Output: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	b.tel.Meters, b.tel.Metrics = tel.Meters, tel.Metrics
	held := newBlocking()
	long, short := time.Now().Add(-3000*time.Second), time.Now().Add(-200*time.Second)
	held.progress = []identity.SweepProgress{
		{Database: "data1", Kind: "claims", Family: domain.FamilyHandle, Numbers: 32, OldestPass: &short},
		{Database: "data2", Kind: "claims", Family: domain.FamilyHandle, Numbers: 32, OldestPass: &long},
		{Database: "data1", Kind: "claims", Family: domain.FamilyEmail, Numbers: 32, OldestPass: &long},
		{Database: "data2", Kind: "claims", Family: domain.FamilyEmail, Numbers: 31, OldestPass: &long},
	}
	records := &fakeRecords{unreferenced: record.Unreferenced{Objects: 5, Bytes: 70}}
	for _, database := range []string{"data1", "data2"} {
		records.progress = append(records.progress, record.SweepProgress{Database: database, Kind: "objects", Family: "collection", Numbers: 32, OldestPass: &short})
	}
	migrations := &fakeMigrations{
		states:     []migration.StateCount{{State: migration.Stopped, Count: 2, Since: long}},
		unresolved: migration.Unresolved{Sections: 4, Oldest: &short},
	}
	leases := &fakeLeases{}
	for _, database := range []string{"data1", "data2"} {
		leases.progress = append(leases.progress, lease.SweepProgress{Database: database, Kind: "checkpoints", Family: lease.FamilyWorld, Numbers: 32, OldestPass: &short})
	}
	b.runner(t, held, func(o *jobs.Options) {
		o.Drain, o.Records, o.Migrations, o.Leases = time.Minute, records, migrations, leases
	})
	<-held.entered
	b.leader(t)
	b.awaitJobs(t, job{"data1", "running", ""}, job{"data2", "completed", ""})
	b.exec(t, `UPDATE river_job SET scheduled_at = scheduled_at - interval '1000 seconds'`)

	scrape := func() string {
		response := httptest.NewRecorder()
		b.tel.Metrics.ServeHTTP(response, httptest.NewRequest("GET", "/metrics", nil))
		return response.Body.String()
	}
	during := scrape()
	for _, want := range []string{
		`holdfast_jobs_depth{kind="identity_sweep",state="running"} 1`,
		`holdfast_jobs_depth{kind="identity_sweep",state="available"} 0`,
		`holdfast_jobs_oldest_seconds{kind="identity_sweep"} 10`,
		`holdfast_jobs_schedule_overdue_seconds{schedule="identity_sweep"} 0`,
		`holdfast_jobs_leader 1`,
		`holdfast_identity_operations_pending{database="data1"} 3`,
		`holdfast_identity_operations_overdue_seconds{database="data1"} 60`,
		`holdfast_sweep_pass_age_seconds{family="handle",kind="claims"} 30`,
		`holdfast_sweep_pass_age_seconds{family="collection",kind="objects"} 2`,
		`holdfast_sweep_pass_age_seconds{family="world",kind="checkpoints"} 2`,
		`holdfast_migration_open{state="stopped"} 2`,
		`holdfast_migration_open{state="active"} 0`,
		`holdfast_migration_state_age_seconds{state="stopped"} 30`,
		`holdfast_migration_unresolved{database="data2"} 4`,
		`holdfast_migration_unresolved_age_seconds{database="data2"} 2`,
		`holdfast_db_tuples_dead{database="control",table="river_job"} `,
		`holdfast_db_tuples_live{database="data2",table="accounts"} `,
		`holdfast_record_unreferenced_objects{database="data1"} 5`,
		`holdfast_record_unreferenced_bytes{database="data2"} 70`,
	} {
		if !strings.Contains(during, want) {
			t.Errorf("during the run the metrics lack %s", want)
		}
	}

	if strings.Contains(during, `holdfast_sweep_pass_age_seconds{family="email"`) {
		t.Error("an age is told of a pass that has not been over every number")
	}

	close(held.release)
	b.awaitJobs(t, finished("data1", "data2")...)
	var after string
	await(t, "the work's duration", func() bool {
		after = scrape()
		return strings.Contains(after, "messaging_process_duration_seconds_bucket{")
	})
	for _, want := range []string{
		`holdfast_jobs_depth{kind="identity_sweep",state="running"} 0`,
		`holdfast_jobs_oldest_seconds{kind="identity_sweep"} 0`,
		`holdfast_sweep_visited_total{family="account",kind="operations"} 0`,
		`river_work_count_total{kind="identity_sweep",queue="sweeps",status="ok"} 2`,
	} {
		if !strings.Contains(after, want) {
			t.Errorf("after the run the metrics lack %s", want)
		}
	}
}

func TestPooler_TheWorkerPollsAndNeverListens(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	fake := &fakeIdentity{}
	b.runner(t, fake, func(o *jobs.Options) { o.Pooler = true })
	b.awaitJobs(t, finished("data1")...)
	var listening int
	err := b.admin.QueryRow(t.Context(), `
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query ILIKE 'listen%'`).Scan(&listening)
	if err != nil || listening != 0 {
		t.Errorf("%d sessions listen (%v)", listening, err)
	}
}
