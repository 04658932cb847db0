package jobs_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/jobs"
)

// blocking is a domain whose first step on data1 waits until it is released, or
// until its context ends.
type blocking struct {
	fakeIdentity
	entered, release chan struct{}
}

func newBlocking() *blocking {
	f := &blocking{entered: make(chan struct{}), release: make(chan struct{})}
	var first sync.Once
	f.do = func(ctx context.Context, s step) (identity.SweepStep, error) {
		if s.Database != "data1" {
			return identity.SweepStep{Done: true}, nil
		}
		var err error
		first.Do(func() {
			close(f.entered)
			select {
			case <-f.release:
			case <-ctx.Done():
				err = ctx.Err()
			}
		})
		return identity.SweepStep{Done: true}, err
	}
	return f
}

func TestStop_TheStepUnderWayEndsAndAnotherWorkerTakesTheRest(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	held := newBlocking()
	one := b.runner(t, held, func(o *jobs.Options) { o.Drain = time.Minute })
	<-held.entered
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		one.stop(t)
	}()
	await(t, "the worker to be stopping", func() bool { return strings.Contains(b.log.String(), `"steps under way may end"`) })
	close(held.release)
	<-stopped
	if made := len(held.asked()); made != 1 {
		t.Errorf("%d steps were made, want the one under way only", made)
	}
	b.awaitJobs(t, job{"data1", "available", ""})

	b.runner(t, &fakeIdentity{}, nil)
	b.awaitJobs(t, finished("data1")...)
}

func TestStop_WithoutDrainTheStepIsCutOffAndAnotherWorkerTakesTheJob(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	held := newBlocking() // never released
	one := b.runner(t, held, nil)
	<-held.entered
	one.stop(t)
	b.awaitJobs(t, job{"data1", "available", ""})

	b.runner(t, &fakeIdentity{}, nil)
	b.awaitJobs(t, finished("data1")...)
	if log := b.log.String(); strings.Contains(log, "job failed") {
		t.Errorf("a stop is told as a failure: %s", log)
	}
}

// The job's worker was killed: its row says that it runs, and nobody does.
func TestKilled_TheJobIsRescuedAndTheScheduleGoesOn(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	inserter, err := jobs.NewInserter(b.admin, b.tel)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inserter.IdentitySweep(t.Context(), "data1"); err != nil {
		t.Fatal(err)
	}
	b.exec(t, `UPDATE river_job SET state = 'running', attempt = 1, attempted_at = now() - interval '61 seconds', attempted_by = '{gone}'`)

	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.SweepEvery = 100 * time.Millisecond })
	await(t, "the dead job to end and the next to run", func() bool {
		all := b.jobs(t)
		return len(all) > 1 && all[0].State == "discarded" && all[1].State == "completed"
	})
}

// watch is a domain that notices two runs of one database at once. A run ends
// with its step of claims.
type watch struct {
	fakeIdentity
	mu      sync.Mutex
	runs    int
	ran     chan int // counts finished runs
	overlap bool
	begun   map[domain.Family]bool // by the run that is under way: each once
}

func newWatch() *watch {
	w := &watch{ran: make(chan int, 10_000), begun: map[domain.Family]bool{}}
	w.do = func(_ context.Context, s step) (identity.SweepStep, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if s.Kind == "operations" {
			w.overlap = w.overlap || w.begun[s.Family]
			w.begun[s.Family] = true
		} else {
			clear(w.begun)
			w.runs++
			w.ran <- w.runs
		}
		return identity.SweepStep{Done: true}, nil
	}
	return w
}

func (b *bundle) leader(t *testing.T) (id string) {
	t.Helper()
	await(t, "a leader", func() bool {
		return b.admin.QueryRow(t.Context(), `SELECT leader_id FROM river_leader WHERE expires_at > now()`).Scan(&id) == nil
	})
	return id
}

func TestLeader_WhenItStopsAnotherGoesOnWithNoDoubleAndNoGap(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	watched := newWatch()
	const every = 200 * time.Millisecond
	oneNumber := func(o *jobs.Options) {
		o.SweepEvery = every
		o.Databases[0].Numbers = o.Databases[0].Numbers[:1]
		o.Drain = time.Minute
	}
	first := b.runner(t, watched, oneNumber)
	leader := b.leader(t) // the only one there is
	b.runner(t, watched, oneNumber)
	for range 5 {
		<-watched.ran
	}
	first.stop(t)
	for range 10 {
		<-watched.ran
	}
	if got := b.leader(t); got == leader {
		t.Errorf("%s still leads", got)
	}
	if watched.overlap {
		t.Error("two runs of one database overlapped")
	}
	if runs, made := b.schedule(t).Runs, len(b.jobs(t)); int64(made) > runs {
		t.Errorf("%d jobs were made for %d runs", made, runs)
	}
	// A leader that goes away is replaced after as much as 15 s. Runs don't wait
	// for that; the bound leaves room for a machine that is busy otherwise.
	var gap time.Duration
	err := b.admin.QueryRow(t.Context(), `
SELECT max(gap) FROM (SELECT created_at - lag(created_at) OVER (ORDER BY created_at) AS gap FROM river_job WHERE kind = 'identity_sweep') AS gaps`).Scan(&gap)
	if err != nil || gap > every+3*time.Second {
		t.Errorf("the longest gap between two runs is %v (%v)", gap, err)
	}
}
