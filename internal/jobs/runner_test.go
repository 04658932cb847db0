package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/jobs"
)

func TestSweep_ARunLooksAtTheOperationsOfEveryNumberAndAtOnePageOfClaims(t *testing.T) {
	t.Parallel()
	b := setUp(t, 3)
	fake := &fakeIdentity{}
	b.runner(t, fake, nil)
	b.awaitJobs(t, finished("data1", "data2", "data3")...)

	var want []step
	for n := range domain.Numbers {
		database := fmt.Sprintf("data%d", n*3/domain.Numbers+1)
		want = append(want,
			step{"operations", database, domain.FamilyAccount, domain.Number(n)},
			step{"operations", database, domain.FamilyDevice, domain.Number(n)})
	}
	var operations []step
	claims := map[string]int{}
	for _, s := range fake.asked() {
		if s.Kind == "operations" {
			operations = append(operations, s)
		} else {
			claims[s.Database]++
		}
	}
	byNumber := cmpopts.SortSlices(func(a, b step) bool { return a.Number < b.Number || a.Number == b.Number && a.Family < b.Family })
	if diff := cmp.Diff(want, operations, byNumber); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"data1": 1, "data2": 1, "data3": 1}, claims); diff != "" {
		t.Errorf("pages of claims (-want +got):\n%s", diff)
	}
}

// finished are jobs of databases that did what they should.
func finished(databases ...string) (all []job) {
	for _, database := range databases {
		all = append(all, job{Database: database, State: "completed"})
	}
	return all
}

func TestSweep_WhereNothingWaitsRunsGoRoundAFewNumbersAtATime(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	fake := &fakeIdentity{idle: true}
	w := b.runner(t, fake, func(o *jobs.Options) {
		o.SweepEvery = 20 * time.Millisecond
		o.Databases[0].Numbers = o.Databases[0].Numbers[:12]
	})
	await(t, "every number to have its turn", func() bool {
		seen := map[step]bool{}
		for _, s := range fake.asked() {
			if s.Kind == "operations" {
				seen[s] = true
			}
		}
		return len(seen) == 2*12
	})
	w.stop(t)
	operations, claims := 0, 0
	for _, s := range fake.asked() {
		if s.Kind == "operations" {
			operations++
		} else {
			claims++
		}
	}
	if operations > 4*(claims+1) { // a page of claims ends a run
		t.Errorf("%d steps of operations were made in %d runs, want four a run", operations, claims)
	}
}

func TestSweep_RunsGoRoundAllClaims(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	fake := &fakeIdentity{}
	b.runner(t, fake, func(o *jobs.Options) {
		o.SweepEvery = 20 * time.Millisecond
		o.Databases[0].Numbers = o.Databases[0].Numbers[:2]
	})
	want := map[step]bool{}
	for _, family := range []domain.Family{domain.FamilyHandle, domain.FamilyEmail, domain.FamilyDeviceCode} {
		want[step{"claims", "data1", family, 0}], want[step{"claims", "data1", family, 1}] = true, true
	}
	await(t, "every partition of claims to have its turn", func() bool {
		seen := map[step]bool{}
		for _, s := range fake.asked() {
			if s.Kind == "claims" {
				seen[s] = true
			}
		}
		return cmp.Equal(want, seen)
	})
}

func TestSweep_APartitionWithMoreIsSweptToItsEndAndABusyOneIsLeft(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	type partition struct {
		family domain.Family
		number domain.Number
	}
	calls := map[partition]int{}
	fake := &fakeIdentity{do: func(_ context.Context, s step) (identity.SweepStep, error) {
		if s.Kind == "claims" {
			return identity.SweepStep{Done: true}, nil
		}
		calls[partition{s.Family, s.Number}]++ // one job works alone
		switch {
		case s.Number == 7 && calls[partition{s.Family, s.Number}] < 3:
			return identity.SweepStep{Visited: 50, Recovered: 50}, nil
		case s.Number == 8:
			return identity.SweepStep{Busy: true}, nil
		default:
			return identity.SweepStep{Done: true}, nil
		}
	}}
	b.runner(t, fake, nil)
	b.awaitJobs(t, finished("data1")...)
	want := map[partition]int{}
	for n := range domain.Number(domain.Numbers) {
		for _, family := range []domain.Family{domain.FamilyAccount, domain.FamilyDevice} {
			want[partition{family, n}] = 1
			if n == 7 {
				want[partition{family, n}] = 3
			}
		}
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("steps by partition (-want +got):\n%s", diff)
	}
}

func TestSweep_AFailureKeepsNoPartitionFromItsTurnAndTellsNoValues(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	quoting := &pgconn.PgError{Severity: "ERROR", Code: "22P02", Message: `invalid input syntax: "ann@example.com"`}
	fake := &fakeIdentity{do: func(_ context.Context, s step) (identity.SweepStep, error) {
		switch {
		case s.Kind == "operations" && s.Number == 3:
			return identity.SweepStep{}, errors.New("number 3 is closed")
		case s.Kind == "operations" && s.Number == 4:
			return identity.SweepStep{}, quoting
		}
		return identity.SweepStep{Done: true}, nil
	}}
	b.runner(t, fake, nil)
	await(t, "the run to fail", func() bool { all := b.jobs(t); return len(all) == 1 && all[0].State == "discarded" })

	if asked := len(fake.asked()); asked != 2*domain.Numbers+1 {
		t.Errorf("%d steps were made, want one of each family a number and one of claims", asked)
	}
	kept := b.jobs(t)[0].Error
	for where, text := range map[string]string{"the job": kept, "the log": b.log.String()} {
		if !strings.Contains(text, "number 3 is closed") || !strings.Contains(text, "SQLSTATE 22P02") {
			t.Errorf("%s doesn't tell what failed: %s", where, text)
		}
		if strings.Contains(text, "ann@") {
			t.Errorf("%s tells a value: %s", where, text)
		}
	}
}

func TestSweep_AfterAFailureOrAPanicTheScheduleGoesOn(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	runs := 0
	fake := &fakeIdentity{do: func(_ context.Context, s step) (identity.SweepStep, error) {
		if s.Kind == "claims" {
			runs++ // one job works alone
			switch runs {
			case 1:
				return identity.SweepStep{}, errors.New("broken")
			case 2:
				panic("at a loss")
			}
		}
		return identity.SweepStep{Done: true}, nil
	}}
	w := b.runner(t, fake, func(o *jobs.Options) { o.SweepEvery = 20 * time.Millisecond })
	await(t, "a third run", func() bool { return len(b.jobs(t)) > 2 && b.jobs(t)[2].State == "completed" })
	w.stop(t)
	want := []job{{"data1", "discarded", "broken"}, {"data1", "discarded", "at a loss"}, {"data1", "completed", ""}}
	if diff := cmp.Diff(want, b.jobs(t)[:3]); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	if log := b.log.String(); !strings.Contains(log, `"job panicked"`) {
		t.Errorf("the log tells no panic: %s", log)
	}
}

func TestSweep_ARunPastItsBudgetGoesOnAsTheSameJob(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	var mu sync.Mutex
	steps := 0
	fake := &fakeIdentity{do: func(context.Context, step) (identity.SweepStep, error) {
		mu.Lock()
		defer mu.Unlock()
		steps++
		return identity.SweepStep{Done: steps > 2}, nil
	}}
	b.runner(t, fake, func(o *jobs.Options) {
		o.RunBudget = time.Nanosecond // one step a run
		o.Databases[0].Numbers = o.Databases[0].Numbers[:1]
	})
	b.awaitJobs(t, finished("data1")...)
	var snoozes int
	if err := b.admin.QueryRow(t.Context(), `SELECT (metadata->>'snoozes')::int FROM river_job WHERE kind = 'identity_sweep'`).Scan(&snoozes); err != nil {
		t.Fatal(err)
	}
	if asked := len(fake.asked()); asked != 4 || snoozes != 3 { // the second family needs one only
		t.Errorf("%d steps were made and the job went on %d times, want 4 and 3", asked, snoozes)
	}
}

func TestSweep_ADatabaseThatTheWorkerDoesNotKnowIsAnError(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	b.exec(t, `INSERT INTO river_job (kind, args, max_attempts, queue, state) VALUES ('identity_sweep', '{"database": "elsewhere"}', 1, 'sweeps', 'available')`)
	b.runner(t, &fakeIdentity{}, nil)
	b.awaitJobs(t,
		job{"data1", "completed", ""},
		job{"elsewhere", "discarded", `this worker's configuration has no numbers on database "elsewhere"`})
}
