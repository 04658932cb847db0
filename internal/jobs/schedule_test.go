package jobs_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/jobs"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// scheduler makes a scheduler with a pool of its own, as another worker would
// have, of the sweep of data1, each minute.
func (b *bundle) scheduler(t *testing.T) *jobs.Scheduler {
	t.Helper()
	s, err := jobs.NewScheduler(b.Router(t, postgres.RoleWorker).Control(), b.tel,
		jobs.Schedule{Job: jobs.IdentitySweep{Database: "data1"}, Database: "data1", Every: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Register(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// schedule is the whole of a schedule's row.
type schedule struct {
	Runs           int64
	NextRunAt      time.Time
	LastEnqueuedAt *time.Time
	LastJobID      *int64
}

func (b *bundle) schedule(t *testing.T) (s schedule) {
	t.Helper()
	err := b.admin.QueryRow(context.Background(), `
SELECT runs, next_run_at, last_enqueued_at, last_job_id FROM schedules WHERE name = 'identity_sweep' AND database = 'data1'`).
		Scan(&s.Runs, &s.NextRunAt, &s.LastEnqueuedAt, &s.LastJobID)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// due makes the schedule due since a while ago (or, with a negative one, in a
// while) and gives the time.
func (b *bundle) due(t *testing.T, ago time.Duration) (at time.Time) {
	t.Helper()
	err := b.admin.QueryRow(context.Background(), `
UPDATE schedules SET next_run_at = clock_timestamp() - $1::interval WHERE database = 'data1' RETURNING next_run_at`, ago).Scan(&at)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func tick(t *testing.T, s *jobs.Scheduler) {
	t.Helper()
	if _, err := s.Tick(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSchedule_EachRunGoesToOneOfFourThatRace(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	var schedulers []*jobs.Scheduler
	for range 4 {
		schedulers = append(schedulers, b.scheduler(t))
	}
	const rounds = 25
	for range rounds {
		b.due(t, 0)
		var racing sync.WaitGroup
		start := make(chan struct{})
		for _, s := range schedulers {
			racing.Go(func() {
				<-start
				tick(t, s)
			})
		}
		close(start)
		racing.Wait()
		// A job that is done can't make the next one look like a duplicate.
		b.exec(t, `UPDATE river_job SET state = 'completed', finalized_at = now() WHERE state = 'available'`)
	}
	if runs, made := b.schedule(t).Runs, len(b.jobs(t)); runs != rounds || made != rounds {
		t.Errorf("%d rounds made %d runs and %d jobs", rounds, runs, made)
	}
}

func TestSchedule_RunsThatNobodyServedAreOneRun(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	s := b.scheduler(t)
	since := b.due(t, time.Hour+20*time.Second)
	tick(t, s)
	first := b.schedule(t)
	tick(t, s)
	want := schedule{1, since.Add(61 * time.Minute), first.LastEnqueuedAt, first.LastJobID}
	if diff := cmp.Diff(want, b.schedule(t)); diff != "" {
		t.Errorf("schedule (-want +got):\n%s", diff)
	}
	if first.LastEnqueuedAt == nil || first.LastJobID == nil || len(b.jobs(t)) != 1 {
		t.Errorf("the run left %+v and %d jobs", first, len(b.jobs(t)))
	}
}

func TestSchedule_AnUnfinishedJobTakesTheRun(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	s := b.scheduler(t)
	tick(t, s)
	first := b.schedule(t)
	for i, state := range []string{"available", "running", "retryable", "scheduled"} {
		b.exec(t, `UPDATE river_job SET state = $1::text::river_job_state`, state)
		again := b.due(t, 0)
		tick(t, s)
		want := schedule{int64(2 + i), again.Add(time.Minute), first.LastEnqueuedAt, first.LastJobID}
		if diff := cmp.Diff(want, b.schedule(t)); diff != "" {
			t.Errorf("beside one that is %s, the schedule is (-want +got):\n%s", state, diff)
		}
		if made := len(b.jobs(t)); made != 1 {
			t.Errorf("beside one that is %s, there are %d jobs", state, made)
		}
	}
}

// A worker's database session dies while it inserts the job of a run that it
// has taken.
func TestSchedule_ARunWhoseTakerDiedGoesToAnother(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	one, other := b.scheduler(t), b.scheduler(t)
	before := b.schedule(t)

	blocker, err := b.admin.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer blocker.Rollback(context.Background())
	if _, err := blocker.Exec(t.Context(), `LOCK TABLE river_job IN EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := one.Tick(context.Background())
		failed <- err
	}()
	await(t, "the taker to die", func() bool {
		var killed int
		err := b.admin.QueryRow(t.Context(), `
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
 WHERE datname = current_database() AND usename = 'holdfast_worker' AND wait_event_type = 'Lock'`).Scan(&killed)
		return err == nil && killed > 0
	})
	if err := <-failed; err == nil {
		t.Error("the taker noticed nothing")
	}
	if diff := cmp.Diff(before, b.schedule(t)); diff != "" || len(b.jobs(t)) != 0 {
		t.Errorf("the dead taker left %d jobs and the schedule (-before +after):\n%s", len(b.jobs(t)), diff)
	}
	if err := blocker.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	tick(t, other)
	if got := b.schedule(t); got.Runs != 1 || len(b.jobs(t)) != 1 {
		t.Errorf("after the other's look there are %+v and %d jobs", got, len(b.jobs(t)))
	}
}

func TestSchedule_AShorterPeriodDoesNotWaitOutTheFormerOne(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	b.scheduler(t)
	b.due(t, -24*time.Hour)
	var before, after time.Time
	clock := func(into *time.Time) {
		if err := b.admin.QueryRow(t.Context(), `SELECT clock_timestamp()`).Scan(into); err != nil {
			t.Fatal(err)
		}
	}
	clock(&before)
	b.scheduler(t)
	clock(&after)
	if next := b.schedule(t).NextRunAt; next.Before(before.Add(time.Minute)) || next.After(after.Add(time.Minute)) {
		t.Errorf("the next run is at %v, want a minute from now", next)
	}
	soon := b.due(t, -10*time.Second)
	b.scheduler(t)
	if next := b.schedule(t).NextRunAt; !next.Equal(soon) {
		t.Errorf("a worker that starts moved the next run from %v to %v", soon, next)
	}
}

func TestSchedule_OthersSchedulesAreLeftAlone(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	b.exec(t, `INSERT INTO schedules (name, database, next_run_at, runs) VALUES ('identity_sweep', 'elsewhere', '2026-01-01Z', 7)`)
	tick(t, b.scheduler(t))
	var runs int
	err := b.admin.QueryRow(t.Context(), `SELECT runs FROM schedules WHERE database = 'elsewhere' AND next_run_at = '2026-01-01Z'`).Scan(&runs)
	if err != nil || runs != 7 {
		t.Errorf("another configuration's schedule has %d runs (%v)", runs, err)
	}
}

func TestSchedules_AreHiddenFromATenant(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	b.scheduler(t)
	control := b.Router(t, postgres.RoleWorker).Control()
	err := pgx.BeginFunc(t.Context(), control, func(tx pgx.Tx) error {
		var seen int
		if err := tx.QueryRow(t.Context(), `SELECT count(*) FROM schedules`).Scan(&seen); err != nil {
			return err
		}
		if seen != 0 {
			t.Errorf("%d schedules are seen without being the operator", seen)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
