package jobs_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
)

// fakeMigrations is a migration domain whose open work ends when do says so, or else
// with its first slice. It keeps what it was asked, in order.
type fakeMigrations struct {
	do func(ctx context.Context, w migration.OpenWork, until time.Time) (ended bool, err error)

	states     []migration.StateCount
	unresolved migration.Unresolved

	mu     sync.Mutex
	open   []migration.OpenWork
	slices []migration.OpenWork
	under  map[domain.TenantID]int // slices that are under way
	most   map[domain.TenantID]int // of these, at any time
}

func (f *fakeMigrations) begin(some ...migration.OpenWork) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = append(f.open, some...)
}

func (f *fakeMigrations) Work(ctx context.Context, tenant domain.TenantID, id domain.MigrationID, run domain.RunID, until time.Time) (bool, error) {
	return f.slice(ctx, tenant, func(w migration.OpenWork) bool { return !w.Scrub && w.Migration == id && w.ID == run }, until)
}

func (f *fakeMigrations) Scrub(ctx context.Context, tenant domain.TenantID, id domain.MigrationID, report domain.ReportID, until time.Time) (bool, error) {
	return f.slice(ctx, tenant, func(w migration.OpenWork) bool {
		return w.Scrub && w.Migration == id && domain.ReportID(w.ID) == report
	}, until)
}

func (f *fakeMigrations) slice(ctx context.Context, tenant domain.TenantID, is func(migration.OpenWork) bool, until time.Time) (ended bool, err error) {
	f.mu.Lock()
	i := slices.IndexFunc(f.open, is)
	if i < 0 {
		f.mu.Unlock()
		return true, nil
	}
	w := f.open[i]
	f.slices = append(f.slices, w)
	if f.under == nil {
		f.under, f.most = map[domain.TenantID]int{}, map[domain.TenantID]int{}
	}
	f.under[tenant]++
	f.most[tenant] = max(f.most[tenant], f.under[tenant])
	f.mu.Unlock()

	ended = true
	if f.do != nil {
		ended, err = f.do(ctx, w, until)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.under[tenant]--
	if ended {
		f.open = slices.DeleteFunc(f.open, is)
	}
	return ended, err
}

func (f *fakeMigrations) OpenWork(_ context.Context, limit int) ([]migration.OpenWork, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.open[:min(limit, len(f.open))]), nil
}

func (f *fakeMigrations) States(context.Context) ([]migration.StateCount, error) {
	return f.states, nil
}

func (f *fakeMigrations) Unresolved(context.Context, string) (migration.Unresolved, error) {
	return f.unresolved, nil
}

func (f *fakeMigrations) asked() []migration.OpenWork {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.slices)
}
