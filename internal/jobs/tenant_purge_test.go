package jobs_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/jobs"
)

// fakePurges has so many steps of each tenant left, and notes which were done.
type fakePurges struct {
	fail map[domain.TenantID]error

	mu    sync.Mutex
	left  map[domain.TenantID]int
	steps []domain.TenantID
}

func (f *fakePurges) Due(_ context.Context, limit int) (due []domain.TenantID, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for tenant, left := range f.left {
		if left > 0 {
			due = append(due, tenant)
		}
	}
	slices.SortFunc(due, func(a, b domain.TenantID) int { return slices.Compare(a[:], b[:]) })
	return due[:min(limit, len(due))], nil
}

func (f *fakePurges) Step(_ context.Context, tenant domain.TenantID) (more bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.steps = append(f.steps, tenant)
	f.left[tenant]--
	return f.left[tenant] > 0 && f.fail[tenant] == nil, f.fail[tenant]
}

func (f *fakePurges) done() []domain.TenantID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.steps)
}

func TestTenantPurge_TakesTurns_AndAFailureKeepsNoOther(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	first, second, failing := domain.TenantID{1}, domain.TenantID{2}, domain.TenantID{3}
	purges := &fakePurges{
		left: map[domain.TenantID]int{first: 3, second: 2, failing: 1},
		fail: map[domain.TenantID]error{failing: errors.New("no bucket")},
	}
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Purges = purges })
	want := []domain.TenantID{first, second, failing, first, second, first}
	await(t, "the steps", func() bool { return len(purges.done()) == len(want) })
	if got := purges.done(); !slices.Equal(got, want) {
		t.Errorf("the steps were of %v, want of %v", got, want)
	}
	await(t, "the job's failure", func() bool {
		var failed int
		err := b.admin.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE kind = 'tenant_purge' AND state = 'discarded' AND NOT args ? 'tenant'`).Scan(&failed)
		return err == nil && failed == 1
	})
}
