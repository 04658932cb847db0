package jobs_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/jobs"
)

const cleanupKind = "identity_cleanup"

// chores are every task in each of the numbers of a database.
func chores(database string, numbers ...domain.Number) (all []cleaning) {
	for _, n := range numbers {
		for _, task := range identity.CleanupTasks() {
			all = append(all, cleaning{database, task, n})
		}
	}
	return all
}

var inAnyOrder = cmpopts.SortSlices(func(a, b cleaning) bool {
	return a.Number < b.Number || a.Number == b.Number && a.Task < b.Task
})

func TestCleanup_ARunDoesEveryTaskInEveryNumber(t *testing.T) {
	t.Parallel()
	b := setUp(t, 3)
	fake := &fakeIdentity{}
	var want []cleaning
	b.runner(t, fake, func(o *jobs.Options) {
		for _, db := range o.Databases {
			want = append(want, chores(db.Name, db.Numbers...)...)
		}
	})
	b.awaitJobsOf(t, cleanupKind, finished("data1", "data2", "data3")...)
	if diff := cmp.Diff(want, fake.cleaned(), inAnyOrder); diff != "" {
		t.Errorf("chores (-want +got):\n%s", diff)
	}
}

func TestCleanup_ARunPastItsBudgetGoesOnAsTheSameJobWhereItWas(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	fake := &fakeIdentity{}
	b.runner(t, fake, func(o *jobs.Options) {
		o.RunBudget = time.Nanosecond // one step a run
		o.Databases[0].Numbers = o.Databases[0].Numbers[:1]
	})
	b.awaitJobsOf(t, cleanupKind, finished("data1")...)
	if diff := cmp.Diff(chores("data1", 0), fake.cleaned(), inAnyOrder); diff != "" {
		t.Errorf("chores (-want +got):\n%s", diff)
	}
}

func TestCleanup_AVisitLastsAsLongAsItFindsSomethingToDo(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	var mu sync.Mutex
	calls := map[cleaning]int{}
	fake := &fakeIdentity{clean: func(_ context.Context, c cleaning) (identity.SweepStep, error) {
		mu.Lock()
		defer mu.Unlock()
		calls[c]++
		switch c.Task {
		case identity.CleanLapsedDevices:
			return identity.SweepStep{Visited: 50, Recovered: calls[c] % 2, Done: calls[c] == 60}, nil // every other page
		case identity.CleanOldEvents:
			return identity.SweepStep{Visited: 50}, nil
		case identity.CleanTombstones:
			return identity.SweepStep{Busy: true}, nil
		default:
			return identity.SweepStep{Done: true}, nil
		}
	}}
	b.runner(t, fake, func(o *jobs.Options) { o.Databases[0].Numbers = o.Databases[0].Numbers[:1] })
	b.awaitJobsOf(t, cleanupKind, finished("data1")...)
	want := map[cleaning]int{}
	for _, c := range chores("data1", 0) {
		want[c] = 1
	}
	want[cleaning{"data1", identity.CleanLapsedDevices, 0}] = 60
	want[cleaning{"data1", identity.CleanOldEvents, 0}] = 10
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("steps by chore (-want +got):\n%s", diff)
	}
	if log := b.log.String(); !strings.Contains(log, `"what had its time was cleaned up"`) || !strings.Contains(log, `"removed":30`) {
		t.Errorf("the log doesn't tell what was removed: %s", log)
	}
}

func TestCleanup_AFailureKeepsNoOtherFromItsTurn(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	fake := &fakeIdentity{clean: func(_ context.Context, c cleaning) (identity.SweepStep, error) {
		if c.Number == 1 && c.Task == identity.CleanTombstones {
			return identity.SweepStep{}, errors.New("number 1 is closed")
		}
		return identity.SweepStep{Done: true}, nil
	}}
	b.runner(t, fake, func(o *jobs.Options) { o.Databases[0].Numbers = o.Databases[0].Numbers[:3] })
	b.awaitJobsOf(t, cleanupKind, job{"data1", "discarded", "number 1 is closed"})
	if diff := cmp.Diff(chores("data1", 0, 1, 2), fake.cleaned(), inAnyOrder); diff != "" {
		t.Errorf("chores (-want +got):\n%s", diff)
	}
}

// Where a database is down, a run ends early, and the next goes on behind it.
func TestCleanup_ManyFailuresEndARunAndTheNextGoesOn(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	fake := &fakeIdentity{clean: func(context.Context, cleaning) (identity.SweepStep, error) {
		return identity.SweepStep{}, errors.New("the database is down")
	}}
	w := b.runner(t, fake, func(o *jobs.Options) {
		o.CleanupEvery = 20 * time.Millisecond
		o.Databases[0].Numbers = o.Databases[0].Numbers[:2]
	})
	await(t, "two runs to fail", func() bool {
		all := b.jobsOf(t, cleanupKind)
		return len(all) > 1 && all[1].State == "discarded"
	})
	w.stop(t)
	first := slices.Clone(fake.cleaned()[:20])
	if diff := cmp.Diff(chores("data1", 0, 1), first, inAnyOrder); diff != "" {
		t.Errorf("the chores of two runs (-want +got):\n%s", diff)
	}
	if kept := b.jobsOf(t, cleanupKind)[0].Error; strings.Count(kept, "the database is down") != 10 {
		t.Errorf("the job keeps %s", kept)
	}
}

func TestCleanup_ADatabaseThatTheWorkerDoesNotKnowIsAnError(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	b.exec(t, `INSERT INTO river_job (kind, args, max_attempts, queue, state) VALUES ('identity_cleanup', '{"database": "elsewhere"}', 1, 'cleanup', 'available')`)
	b.runner(t, &fakeIdentity{}, nil)
	b.awaitJobsOf(t, cleanupKind,
		job{"data1", "completed", ""},
		job{"elsewhere", "discarded", `this worker's configuration has no numbers on database "elsewhere"`})
}

func TestInsert_ACleanupIsAskedForOnceBesideAnySweep(t *testing.T) {
	t.Parallel()
	b := setUp(t, 2)
	inserter := b.inserter(t)
	ask(t, t.Context(), inserter, "data1")
	for _, want := range [][]string{{"data1", "data2"}, nil} {
		asked, err := inserter.IdentityCleanup(t.Context(), "data1", "data2")
		if err != nil || !slices.Equal(asked, want) {
			t.Errorf("cleanups of %v were asked for (%v), want %v", asked, err, want)
		}
	}
	waiting := []job{{"data1", "available", ""}, {"data2", "available", ""}}
	if diff := cmp.Diff(waiting, b.jobsOf(t, cleanupKind)); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
}

// A long cleanup keeps no sweep waiting.
func TestCleanup_HoldsUpNoSweep(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	release := make(chan struct{})
	fake := &fakeIdentity{clean: func(ctx context.Context, _ cleaning) (identity.SweepStep, error) {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return identity.SweepStep{Done: true}, nil
	}}
	b.runner(t, fake, func(o *jobs.Options) { o.SweepEvery = 20 * time.Millisecond })
	await(t, "the cleanup to begin", func() bool { return len(fake.cleaned()) > 0 })
	before := len(fake.asked())
	await(t, "the sweep to go on", func() bool { return len(fake.asked()) > before+2*domain.Numbers })
	close(release)
	b.awaitJobsOf(t, cleanupKind, finished("data1")...)
}
