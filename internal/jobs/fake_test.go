package jobs_test

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

// step is one call of the identity domain.
type step struct {
	Kind     string
	Database string
	Family   domain.Family
	Number   domain.Number
}

// fakeIdentity is an identity domain that does as it is told: nothing to find,
// unless do says otherwise. It keeps what it was asked, in order.
type fakeIdentity struct {
	do    func(ctx context.Context, s step) (identity.SweepStep, error)
	clean func(ctx context.Context, c cleaning) (identity.SweepStep, error)
	idle  bool // there are no operations

	progress []identity.SweepProgress

	mu        sync.Mutex
	steps     []step
	cleanings []cleaning
}

// cleaning is one call of the cleanup.
type cleaning struct {
	Database string
	Task     identity.CleanupTask
	Number   domain.Number
}

func (f *fakeIdentity) Cleanup(ctx context.Context, database string, task identity.CleanupTask, number domain.Number, _ int) (identity.SweepStep, error) {
	c := cleaning{database, task, number}
	f.mu.Lock()
	f.cleanings = append(f.cleanings, c)
	f.mu.Unlock()
	if f.clean == nil {
		return identity.SweepStep{Done: true}, nil
	}
	return f.clean(ctx, c)
}

// cleaned is what it was asked to clean up so far.
func (f *fakeIdentity) cleaned() []cleaning {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]cleaning(nil), f.cleanings...)
}

func (f *fakeIdentity) sweep(ctx context.Context, s step) (identity.SweepStep, error) {
	f.mu.Lock()
	f.steps = append(f.steps, s)
	f.mu.Unlock()
	if f.do == nil {
		return identity.SweepStep{Done: true}, nil
	}
	return f.do(ctx, s)
}

func (f *fakeIdentity) SweepOperations(ctx context.Context, database string, family domain.Family, number domain.Number, _ int) (identity.SweepStep, error) {
	return f.sweep(ctx, step{"operations", database, family, number})
}

func (f *fakeIdentity) SweepClaims(ctx context.Context, database string, family domain.Family, number domain.Number, _ int) (identity.SweepStep, error) {
	return f.sweep(ctx, step{"claims", database, family, number})
}

func (f *fakeIdentity) Backlog(_ context.Context, database string) (identity.Backlog, error) {
	backlog := identity.Backlog{Database: database}
	if !f.idle {
		deadline := time.Now().Add(-6000 * time.Second)
		backlog.Pending, backlog.OldestDeadline = 3, &deadline
	}
	return backlog, nil
}

func (f *fakeIdentity) SweepProgress(context.Context) ([]identity.SweepProgress, error) {
	return f.progress, nil
}

// asked is what it was asked so far.
func (f *fakeIdentity) asked() []step {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]step(nil), f.steps...)
}
