package jobs_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/jobs"
)

const thisBuild = "build-1"

func newTenant() domain.TenantID { return domain.NewID[domain.TenantKind](time.Now()) }

// openRun is a run of a tenant for this build, that has begun.
func openRun(tenant domain.TenantID) migration.OpenWork {
	now := time.Now()
	return migration.OpenWork{Tenant: tenant, Migration: domain.NewID[domain.MigrationKind](now), ID: domain.NewID[domain.RunKind](now), Build: thisBuild}
}

func openScrub(tenant domain.TenantID) migration.OpenWork {
	scrub := openRun(tenant)
	scrub.Scrub = true
	return scrub
}

// states are those of the jobs of a kind, in order.
func (b *bundle) states(t *testing.T, kind string) []string {
	t.Helper()
	rows, _ := b.admin.Query(context.Background(), `SELECT state::text FROM river_job WHERE kind = $1 ORDER BY id`, kind)
	states, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return states
}

// slicesOf has each piece of work end with its so-manieth slice.
func slicesOf(n int) func(context.Context, migration.OpenWork, time.Time) (bool, error) {
	var mu sync.Mutex
	had := map[domain.RunID]int{}
	return func(_ context.Context, w migration.OpenWork, _ time.Time) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		had[w.ID]++
		return had[w.ID] >= n, nil
	}
}

func TestRun_GoesOnSliceBySliceUntilItEnds(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	run := openRun(newTenant())
	fake := &fakeMigrations{do: slicesOf(3)}
	fake.begin(run)
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Migrations = fake })
	await(t, "three slices", func() bool { return strings.Join(b.states(t, "migration_run"), " ") == "completed completed completed" })
	if diff := cmp.Diff([]migration.OpenWork{run, run, run}, fake.asked()); diff != "" {
		t.Errorf("slices (-want +got):\n%s", diff)
	}
}

func TestScrub_GoesOnSliceBySliceUntilItEnds(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	scrub := openScrub(newTenant())
	scrub.Build = "another" // whose workers are gone
	fake := &fakeMigrations{do: slicesOf(2)}
	fake.begin(scrub)
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Migrations = fake })
	await(t, "two slices", func() bool { return strings.Join(b.states(t, "migration_scrub"), " ") == "completed completed" })
	if diff := cmp.Diff([]migration.OpenWork{scrub, scrub}, fake.asked()); diff != "" {
		t.Errorf("slices (-want +got):\n%s", diff)
	}
}

// Three runs of one tenant take turns, and are never at it at once.
func TestRun_ATenantsRunsTakeTurns(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	tenant := newTenant()
	one, two, three := openRun(tenant), openRun(tenant), openRun(tenant)
	fake := &fakeMigrations{do: slicesOf(2)}
	fake.begin(one, two, three)
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Migrations = fake })
	await(t, "all to end", func() bool { return len(fake.asked()) == 6 })
	if diff := cmp.Diff([]migration.OpenWork{one, two, three, one, two, three}, fake.asked()); diff != "" {
		t.Errorf("slices (-want +got):\n%s", diff)
	}
	if most := fake.most[tenant]; most != 1 {
		t.Errorf("%d slices of one tenant were under way at once", most)
	}
}

// A tenant whose run doesn't end keeps others waiting for no longer than a slice.
func TestRun_ATenantWithMuchToDoKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	busy, other := newTenant(), newTenant()
	fake := &fakeMigrations{do: func(ctx context.Context, w migration.OpenWork, _ time.Time) (bool, error) {
		return w.Tenant == other, ctx.Err()
	}}
	for range 4 {
		fake.begin(openRun(busy))
	}
	fake.begin(openRun(other))
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Migrations = fake })
	await(t, "the other's run to end", func() bool {
		for _, w := range fake.asked() {
			if w.Tenant == other {
				return true
			}
		}
		return false
	})
	fake.mu.Lock()
	defer fake.mu.Unlock()
	if most := fake.most[busy]; most != 1 {
		t.Errorf("%d slices of the busy tenant were under way at once", most)
	}
}

func TestRun_OfAnotherBuildIsLeftToItsWorkers(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	tenant := newTenant()
	theirs, ours := openRun(tenant), openRun(tenant)
	theirs.Build = "build-2"
	fake := &fakeMigrations{}
	fake.begin(theirs, ours)
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Migrations = fake })
	await(t, "ours to end, and theirs to wait", func() bool { return strings.Join(b.states(t, "migration_run"), " ") == "available completed" })
	if diff := cmp.Diff([]migration.OpenWork{ours}, fake.asked()); diff != "" {
		t.Errorf("slices (-want +got):\n%s", diff)
	}
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Migrations, o.Build = fake, "build-2" })
	await(t, "theirs to end", func() bool { return len(fake.asked()) == 2 })
}

func TestRun_IsAskedForOnceByWhoeverBeginsItAndTheWatch(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	run := openRun(newTenant())
	for range 2 {
		if err := b.inserter(t).MigrationRun(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
	fake := &fakeMigrations{do: func(ctx context.Context, _ migration.OpenWork, _ time.Time) (bool, error) {
		<-ctx.Done()
		return false, ctx.Err()
	}}
	fake.begin(run)
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Migrations = fake })
	await(t, "the watch to have looked", func() bool { return strings.Join(b.states(t, "migration_watch"), " ") == "completed" })
	if states := b.states(t, "migration_run"); len(states) != 1 {
		t.Errorf("the jobs are %v, want one", states)
	}
}

// The job still counts as running, and nobody is heard of who works it.
func TestWatch_WhatIsDesertedGoesToAnotherWorker(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	deserted, alive := openRun(newTenant()), openRun(newTenant())
	deserted.Silent, alive.Silent = time.Minute, 5*time.Second
	for _, run := range []migration.OpenWork{deserted, alive} {
		if err := b.inserter(t).MigrationRun(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
	b.exec(t, `UPDATE river_job SET state = 'running', attempt = 1, attempted_at = now() - interval '30 seconds', attempted_by = '{another}'`)
	fake := &fakeMigrations{}
	fake.begin(deserted, alive)
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Migrations = fake })
	await(t, "the deserted one to end", func() bool { return strings.Join(b.states(t, "migration_run"), " ") == "completed running" })
	if diff := cmp.Diff([]migration.OpenWork{deserted}, fake.asked()); diff != "" {
		t.Errorf("slices (-want +got):\n%s", diff)
	}
}

func TestRun_WhoseSlicesWereGivenUpIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	run := openRun(newTenant())
	if err := b.inserter(t).MigrationRun(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	b.exec(t, `UPDATE river_job SET state = 'discarded', attempt = max_attempts, finalized_at = now()`)
	fake := &fakeMigrations{}
	fake.begin(run)
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Migrations = fake })
	await(t, "a new slice", func() bool { return strings.Join(b.states(t, "migration_run"), " ") == "discarded completed" })
}

// The workers of its build are gone, and it was paused, or ended at its deadline.
func TestWatch_TheJobOfARunThatIsOverGoesWithIt(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	over, waiting := openRun(newTenant()), openRun(newTenant())
	over.Build, waiting.Build = "build-0", "build-0"
	for _, run := range []migration.OpenWork{over, waiting} {
		if err := b.inserter(t).MigrationRun(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
	b.exec(t, `UPDATE river_job SET scheduled_at = now() - interval '1 hour'`)
	fake := &fakeMigrations{}
	fake.begin(waiting)
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Migrations = fake })
	await(t, "one to be left", func() bool { return strings.Join(b.states(t, "migration_run"), " ") == "available" })
	var left string
	if err := b.admin.QueryRow(t.Context(), `SELECT args->>'run' FROM river_job WHERE kind = 'migration_run'`).Scan(&left); err != nil || left != waiting.ID.String() {
		t.Errorf("the job that is left is of run %s (%v), want %v", left, err, waiting.ID)
	}
}

func TestRun_ASliceThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	var once sync.Once
	fake := &fakeMigrations{do: func(context.Context, migration.OpenWork, time.Time) (bool, error) {
		var err error
		once.Do(func() { err = errors.New("the control database went away") })
		return err == nil, err
	}}
	fake.begin(openRun(newTenant()))
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Migrations = fake })
	await(t, "the run to end", func() bool { return strings.Join(b.states(t, "migration_run"), " ") == "completed" })
	if tries := len(fake.asked()); tries != 2 {
		t.Errorf("the slice was tried %d times, want twice", tries)
	}
}

// A slice that went on for longer than its job lived was given to another worker,
// too. Both end, and one of them hands on.
func TestRun_TwoWorkersOnOneSliceHandOnOnce(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	entered, release := make(chan struct{}, 10), make(chan struct{})
	fake := &fakeMigrations{do: func(context.Context, migration.OpenWork, time.Time) (bool, error) {
		entered <- struct{}{}
		<-release
		return false, nil
	}}
	run := openRun(newTenant())
	fake.begin(run)
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Migrations = fake })
	<-entered
	b.exec(t, `UPDATE river_job SET state = 'available' WHERE kind = 'migration_run'`) // as the rescuer does
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Migrations = fake })
	<-entered
	release <- struct{}{}
	release <- struct{}{}
	<-entered // the next slice
	await(t, "one slice to be under way", func() bool { return strings.Join(b.states(t, "migration_run"), " ") == "completed running" })
	fake.mu.Lock()
	fake.open = nil
	fake.mu.Unlock()
	close(release)
	await(t, "it to end", func() bool {
		states := b.states(t, "migration_run")
		return states[len(states)-1] == "completed"
	})
	if log := b.log.String(); strings.Contains(log, "job failed") {
		t.Errorf("a twin is told as a failure: %s", log)
	}
}

// What is under way ends, and the next slice is another worker's.
func TestStop_ARunEndsWithItsPassAndAnotherWorkerGoesOn(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	entered := make(chan struct{}, 1)
	var until time.Time
	fake := &fakeMigrations{do: func(ctx context.Context, _ migration.OpenWork, u time.Time) (bool, error) {
		until = u
		entered <- struct{}{}
		<-ctx.Done()
		return false, nil
	}}
	run := openRun(newTenant())
	fake.begin(run)
	began := time.Now()
	one := b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Migrations, o.Drain = fake, time.Minute })
	<-entered
	if slice := until.Sub(began); slice < 40*time.Second || slice > 55*time.Second {
		t.Errorf("the slice is of %v, want 45 s", slice)
	}
	one.stop(t)
	if states := strings.Join(b.states(t, "migration_run"), " "); states != "completed available" {
		t.Errorf("the jobs are %v, want one that is done and the next", states)
	}
	other := &fakeMigrations{}
	other.begin(run)
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Migrations = other })
	await(t, "the other to go on", func() bool { return len(other.asked()) == 1 })
}
