package jobs_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/jobs"
)

// A tenant whose operations fall behind in one number without end keeps those in the
// others waiting for no longer than a run.
func TestSweep_ANumberWithoutEndKeepsNoOtherFromItsTurn(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	fake := &fakeIdentity{do: func(_ context.Context, s step) (identity.SweepStep, error) {
		return identity.SweepStep{Visited: 50, Recovered: 50, Done: s.Number != 1}, nil
	}}
	b.runner(t, fake, func(o *jobs.Options) {
		o.RunBudget = time.Nanosecond // one step a run
		o.Databases[0].Numbers = o.Databases[0].Numbers[:4]
	})
	await(t, "every number's turn", func() bool {
		seen := map[domain.Number]bool{}
		for _, s := range fake.asked() {
			seen[s.Number] = true
		}
		return len(seen) == 4
	})
}

// Likewise what is to be removed of one tenant.
func TestCleanup_ANumberWithoutEndKeepsNoOtherFromItsTurn(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	fake := &fakeIdentity{clean: func(_ context.Context, c cleaning) (identity.SweepStep, error) {
		return identity.SweepStep{Visited: 50, Recovered: 50, Done: c.Number != 1}, nil
	}}
	b.runner(t, fake, func(o *jobs.Options) {
		o.RunBudget = time.Nanosecond
		o.Databases[0].Numbers = o.Databases[0].Numbers[:2]
	})
	await(t, "every chore's turn", func() bool {
		seen := map[cleaning]bool{}
		for _, c := range fake.cleaned() {
			seen[c] = true
		}
		return len(seen) == len(chores("data1", 0, 1))
	})
}

// A tenant whose scrubs don't end has one slice at a time, and others have theirs.
func TestScrub_ATenantWithMuchToReadKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	busy, other := newTenant(), newTenant()
	fake := &fakeMigrations{do: func(ctx context.Context, w migration.OpenWork, _ time.Time) (bool, error) {
		return w.Tenant == other, ctx.Err()
	}}
	scrubOf := func(tenant domain.TenantID) migration.OpenWork {
		w := openRun(tenant)
		w.Scrub, w.Build = true, ""
		return w
	}
	for range 4 {
		fake.begin(scrubOf(busy))
	}
	fake.begin(scrubOf(other))
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Migrations = fake })
	await(t, "the other's scrub", func() bool {
		return slices.ContainsFunc(fake.asked(), func(w migration.OpenWork) bool { return w.Tenant == other })
	})
	fake.mu.Lock()
	defer fake.mu.Unlock()
	if most := fake.most[busy]; most != 1 {
		t.Errorf("%d slices of the busy tenant were under way at once", most)
	}
}

// A tenant whose snapshot never comes to its end has one step, and then the others
// have theirs.
func TestSnapshots_OneWithoutEndKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	var mu sync.Mutex
	left := map[record.DueSnapshot]int{dueSnapshot(1): 1000, dueSnapshot(2): 2}
	var turns []byte
	fake := &fakeRecords{}
	fake.snapshots = func(string) (due []record.DueSnapshot, err error) {
		mu.Lock()
		defer mu.Unlock()
		for _, d := range []record.DueSnapshot{dueSnapshot(1), dueSnapshot(2)} {
			if left[d] > 0 {
				due = append(due, d)
			}
		}
		return due, nil
	}
	fake.do = func(_ context.Context, s recordStep) (record.SweepStep, error) {
		mu.Lock()
		defer mu.Unlock()
		if s.Kind == "snapshot" {
			turns = append(turns, s.Snapshot.Tenant[0])
			left[s.Snapshot]--
		}
		return record.SweepStep{Visited: 1, Recovered: 1, Done: s.Kind != "snapshot"}, nil
	}
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Records = fake })
	await(t, "the other's snapshot", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return left[dueSnapshot(2)] == 0
	})
	mu.Lock()
	defer mu.Unlock()
	if first := turns[:4]; !slices.Equal(first, []byte{1, 2, 1, 2}) {
		t.Errorf("the turns are %v, want both tenants' one after the other", first)
	}
}

// A tenant that purges for long has one step, and then the others have theirs.
func TestTenantPurge_OneWithoutEndKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	endless, other := domain.TenantID{1}, domain.TenantID{2}
	purges := &fakePurges{left: map[domain.TenantID]int{endless: 1 << 30, other: 2}}
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Purges, o.RunBudget = purges, 100*time.Millisecond })
	await(t, "the other's purge", func() bool {
		return slices.Equal(purges.done()[:min(4, len(purges.done()))], []domain.TenantID{endless, other, endless, other})
	})
}

// A tenant whose count is due again at once is counted no sooner than all others are.
func TestStockCount_WhoIsDueForLongestIsFirst(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	stocks := &endlessStocks{}
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Stocks, o.RunBudget = stocks, time.Nanosecond })
	await(t, "three runs of one count", func() bool { return len(stocks.done()) >= 3 })
	if got, want := stocks.done()[:3], []domain.TenantID{{1}, {2}, {3}}; !slices.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}

// endlessStocks has three tenants that are always due, who were counted last, last.
type endlessStocks struct {
	mu      sync.Mutex
	counted []domain.TenantID
}

func (f *endlessStocks) Due(context.Context, string, int) ([]domain.TenantID, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	due := []domain.TenantID{{1}, {2}, {3}}
	slices.SortStableFunc(due, func(a, b domain.TenantID) int { return f.last(a) - f.last(b) })
	return due, nil
}

func (f *endlessStocks) last(tenant domain.TenantID) int {
	for i := len(f.counted) - 1; i >= 0; i-- {
		if f.counted[i] == tenant {
			return i
		}
	}
	return -1
}

func (f *endlessStocks) Count(_ context.Context, _ string, tenant domain.TenantID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counted = append(f.counted, tenant)
	return nil
}

func (f *endlessStocks) done() []domain.TenantID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.counted)
}
