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

// fakeStocks has tenants that are due, each once, and notes which were counted.
type fakeStocks struct {
	fail map[domain.TenantID]error

	mu      sync.Mutex
	due     []domain.TenantID
	counted []domain.TenantID
}

func (f *fakeStocks) Due(_ context.Context, _ string, limit int) ([]domain.TenantID, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	due := f.due[:min(limit, len(f.due), 2)]
	f.due = f.due[len(due):]
	return due, nil
}

func (f *fakeStocks) Count(_ context.Context, _ string, tenant domain.TenantID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counted = append(f.counted, tenant)
	return f.fail[tenant]
}

func (f *fakeStocks) done() []domain.TenantID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.counted)
}

func TestStockCount_CountsAllThatAreDue_WhateverFails(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	closed, failing, last := domain.TenantID{1}, domain.TenantID{2}, domain.TenantID{3}
	stocks := &fakeStocks{due: []domain.TenantID{closed, failing, last}, fail: map[domain.TenantID]error{
		closed: domain.Forbidden("tenant_suspended", "The tenant is suspended."), failing: errors.New("no database"),
	}}
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Stocks = stocks })
	await(t, "the counts", func() bool { return len(stocks.done()) == 3 })
	if got, want := stocks.done(), []domain.TenantID{closed, failing, last}; !slices.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
	await(t, "the job's failure, for the one that is not merely closed", func() bool {
		var failed int
		err := b.admin.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE kind = 'stock_count' AND state = 'discarded'`).Scan(&failed)
		return err == nil && failed == 1
	})
}
