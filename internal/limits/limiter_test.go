package limits

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric/noop"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// told is a source of what it is told, and counts how often it was read.
type told struct {
	mu      sync.Mutex
	set     Set
	counted Counted
	err     error
	reads   int
}

func (f *told) read(context.Context, domain.TenantID, []string) (Set, Counted, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	return f.set, f.counted, f.err
}

func (f *told) is(set Set, counted Counted, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.set, f.counted, f.err = set, counted, err
}

// clock stands until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

var acme = domain.TenantID{1}

func newTestLimiter(t *testing.T, set Set) (*Limiter, *told, *clock) {
	t.Helper()
	source, now := &told{set: set}, &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	l, err := newLimiter(source, nil, now.read, noop.NewMeterProvider(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return l, source, now
}

func n(value int64) *int64 { return &value }

func codeAndWait(t *testing.T, err error) (string, time.Duration) {
	t.Helper()
	var e *domain.Error
	if err != nil && !errors.As(err, &e) {
		t.Fatalf("%v is not a refusal", err)
	}
	if e == nil {
		return "", 0
	}
	return e.Code, e.RetryAfter
}

func TestAdmit_OverTheRate_IsToldWhenThereIsRoom_AndThenThereIs(t *testing.T) {
	t.Parallel()
	l, _, now := newTestLimiter(t, Set{RequestsPerSecond: n(4)})
	for i := range 4 {
		done, a, err := l.Admit(t.Context(), acme, false)
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		if want := []string{";r=3;", ";r=2;", ";r=1;", ";r=0;"}[i]; !strings.Contains(a.Remaining, want) {
			t.Errorf("request %d is told %s, want %s", i, a.Remaining, want)
		}
		done()
	}
	_, a, err := l.Admit(t.Context(), acme, false)
	code, wait := codeAndWait(t, err)
	if code != "rate_limited" || wait != 250*time.Millisecond {
		t.Errorf("the fifth: %s after %v, want rate_limited after 250ms", code, wait)
	}
	if a.Policy != `"requests";q=4;w=1` || a.Remaining != `"requests";r=0;t=1` {
		t.Errorf("the fifth is told %s, %s", a.Policy, a.Remaining)
	}
	if _, _, err := l.Admit(t.Context(), domain.TenantID{2}, false); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	now.move(wait)
	if _, _, err := l.Admit(t.Context(), acme, false); err != nil {
		t.Errorf("when it was told to come: %v", err)
	}
}

func TestAdmit_BeyondTheTurns_WaitsForOne_InOrder(t *testing.T) {
	t.Parallel()
	l, _, _ := newTestLimiter(t, Set{ConcurrentRequests: n(1)})
	first, _, err := l.Admit(t.Context(), acme, false)
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error)
	go func() {
		second, _, err := l.Admit(t.Context(), acme, false)
		if err == nil {
			second()
		}
		waiting <- err
	}()
	p := l.of(t.Context(), acme).pace.Load()
	for p.lined.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	first()
	if err := <-waiting; err != nil {
		t.Errorf("the one that waited: %v", err)
	}
}

func TestAdmit_WhenTheLineIsFull_IsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	l, _, _ := newTestLimiter(t, Set{ConcurrentRequests: n(1)})
	if _, _, err := l.Admit(t.Context(), acme, false); err != nil {
		t.Fatal(err)
	}
	p := l.of(t.Context(), acme).pace.Load()
	p.lined.Store(inLine)
	if code, wait := codeAndWait(t, errOf(l.Admit(t.Context(), acme, false))); code != "too_many_requests" || wait != turnWithin {
		t.Errorf("%s after %v, want too_many_requests after %v", code, wait, turnWithin)
	}
	if p.lined.Load() != inLine {
		t.Error("the refused one stands in line")
	}
}

func TestAdmit_WhoWaitsInVain_IsRefused(t *testing.T) {
	t.Parallel()
	l, _, _ := newTestLimiter(t, Set{ConcurrentRequests: n(1)})
	if _, _, err := l.Admit(t.Context(), acme, false); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if code, _ := codeAndWait(t, errOf(l.Admit(ctx, acme, false))); code != "too_many_requests" {
		t.Errorf("%q, want too_many_requests", code)
	}
}

func TestAdmit_WhatWaitsForOthers_TakesNoTurn_AndHasALimitOfItsOwn(t *testing.T) {
	t.Parallel()
	l, _, _ := newTestLimiter(t, Set{ConcurrentRequests: n(1), WaitingRequests: n(2)})
	first, _, err := l.Admit(t.Context(), acme, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Admit(t.Context(), acme, true); err != nil {
		t.Fatal(err)
	}
	if code, _ := codeAndWait(t, errOf(l.Admit(t.Context(), acme, true))); code != "too_many_waiting" {
		t.Errorf("%q, want too_many_waiting", code)
	}
	if _, _, err := l.Admit(t.Context(), acme, false); err != nil {
		t.Errorf("one that works: %v", err)
	}
	first()
	if _, _, err := l.Admit(t.Context(), acme, true); err != nil {
		t.Errorf("behind the one that ended: %v", err)
	}
}

func TestEntries_MoreThanASecondsWorthPassWhenTheBucketIsFull(t *testing.T) {
	t.Parallel()
	l, _, now := newTestLimiter(t, Set{EntriesPerSecond: n(10)})
	if err := l.Entries(t.Context(), acme, 1000); err != nil {
		t.Fatal(err)
	}
	code, wait := codeAndWait(t, l.Entries(t.Context(), acme, 5))
	if code != "rate_limited" || wait != 500*time.Millisecond {
		t.Errorf("%s after %v, want rate_limited after 500ms", code, wait)
	}
	now.move(wait)
	if err := l.Entries(t.Context(), acme, 5); err != nil {
		t.Errorf("when it was told to come: %v", err)
	}
}

func TestLimits_ChangedOnesHoldWithinSeconds_AndWhoIsUnderWayEndsByTheOld(t *testing.T) {
	t.Parallel()
	l, source, now := newTestLimiter(t, Set{ConcurrentRequests: n(1)})
	old, _, err := l.Admit(t.Context(), acme, false)
	if err != nil {
		t.Fatal(err)
	}
	source.is(Set{ConcurrentRequests: n(2)}, Counted{}, nil)
	now.move(RefreshEvery)
	for range 2 {
		if _, _, err := l.Admit(t.Context(), acme, false); err != nil {
			t.Fatal(err)
		}
	}
	old() // must not give a turn of the new ones back
	p := l.of(t.Context(), acme).pace.Load()
	if p.turns.TryAcquire(1) {
		t.Error("an old turn became a new one")
	}
}

func TestLimits_ThatCannotBeRead_StayAsTheyAreKnown(t *testing.T) {
	t.Parallel()
	l, source, now := newTestLimiter(t, Set{RequestsPerSecond: n(1)})
	if _, _, err := l.Admit(t.Context(), acme, false); err != nil {
		t.Fatal(err)
	}
	source.is(Set{}, Counted{}, errors.New("the database is away"))
	now.move(RefreshEvery)
	if _, a, err := l.Admit(t.Context(), acme, false); err != nil || a.Policy != `"requests";q=1;w=1` {
		t.Errorf("%v by %s", err, a.Policy)
	}
	reads := source.reads
	if _, _, err := l.Admit(t.Context(), acme, false); err == nil || source.reads != reads {
		t.Errorf("%v, read %d times more: a database that is away is not to be asked by each request", err, source.reads-reads)
	}
	if _, a, err := l.Admit(t.Context(), domain.TenantID{2}, false); err != nil || a.Policy != newPace(Default).policy {
		t.Errorf("a tenant that was never read: %v by %s, want the defaults", err, a.Policy)
	}
}

func TestDemand_WhatWasMadeSinceTheCountCounts_UntilItIsCounted(t *testing.T) {
	t.Parallel()
	l, source, now := newTestLimiter(t, Set{Accounts: n(10)})
	source.is(Set{Accounts: n(10)}, Counted{Usage: Usage{Accounts: 8}, Newest: now.read()}, nil)
	full := func() bool { return l.Demand(t.Context(), acme, domain.Accounts, 1) != nil }
	for range 2 {
		if full() {
			t.Fatal("refused below the limit")
		}
		l.Grew(acme, domain.Accounts, 1)
	}
	code, _ := codeAndWait(t, l.Demand(t.Context(), acme, domain.Accounts, 1))
	if code != "quota_exceeded" {
		t.Errorf("at the limit: %q", code)
	}
	if err := l.Demand(t.Context(), acme, domain.Worlds, 1); err != nil {
		t.Errorf("another stock: %v", err)
	}

	now.move(time.Minute) // the two are in the next count, and one was removed
	source.is(Set{Accounts: n(10)}, Counted{Usage: Usage{Accounts: 9}, Newest: now.read().Add(-20 * time.Second)}, nil)
	if full() {
		t.Error("what was counted is counted twice")
	}
	l.Grew(acme, domain.Accounts, 1)
	if !full() {
		t.Error("what was made since isn't counted")
	}
}

func TestDemand_AfterALongTimeWithoutACount_NothingIsForgotten(t *testing.T) {
	t.Parallel()
	l, _, now := newTestLimiter(t, Set{Accounts: n(3 * maxGrowth)})
	if err := l.Demand(t.Context(), acme, domain.Accounts, 1); err != nil {
		t.Fatal(err)
	}
	for range 3 * maxGrowth {
		l.Grew(acme, domain.Accounts, 1)
		now.move(growthStep)
	}
	s := &l.of(t.Context(), acme).stocks
	if len(s.grown) > maxGrowth {
		t.Errorf("%d steps are kept, want %d at most", len(s.grown), maxGrowth)
	}
	if l.Demand(t.Context(), acme, domain.Accounts, 1) == nil {
		t.Error("something was forgotten")
	}
}

func TestLimits_ManyCallersAtOnce_NeverMoreUnderWayThanTurns(t *testing.T) {
	t.Parallel()
	const turns = 3
	l, _, _ := newTestLimiter(t, Set{ConcurrentRequests: n(turns)})
	var mu sync.Mutex
	underWay, most := 0, 0
	count := func(d int) {
		mu.Lock()
		defer mu.Unlock()
		underWay += d
		most = max(most, underWay)
	}
	var all sync.WaitGroup
	for range inLine * turns {
		all.Go(func() {
			done, _, err := l.Admit(t.Context(), acme, false)
			if err != nil {
				t.Errorf("a request in a line that isn't full: %v", err)
				return
			}
			count(1)
			time.Sleep(time.Millisecond)
			count(-1)
			done()
		})
	}
	all.Wait()
	if most > turns {
		t.Errorf("%d were under way at once, want %d at most", most, turns)
	}
}

func errOf(_ func(), _ Admission, err error) error { return err }

func TestDemand_WhatMayBeInACountIsNotAddedToIt(t *testing.T) {
	t.Parallel()
	l, source, now := newTestLimiter(t, Set{Worlds: n(2)})
	if err := l.Demand(t.Context(), acme, domain.Worlds, 1); err != nil {
		t.Fatal(err)
	}
	l.Grew(acme, domain.Worlds, 1)
	now.move(RefreshEvery)
	// One database was counted behind that, and the other long before.
	source.is(Set{Worlds: n(2)}, Counted{Usage: Usage{Worlds: 1}, At: now.read().Add(-time.Minute), Newest: now.read()}, nil)
	if err := l.Demand(t.Context(), acme, domain.Worlds, 1); err != nil {
		t.Errorf("the second of two: %v", err)
	}
}
