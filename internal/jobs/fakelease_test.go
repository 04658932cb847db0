package jobs_test

import (
	"context"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
)

// leaseStep is one call of the lease domain.
type leaseStep struct {
	Task     lease.Task
	Database string
	Number   domain.Number
}

// fakeLeases is a lease domain that has nothing due, unless it is told otherwise. It
// keeps what it was asked, in order.
type fakeLeases struct {
	due func(database string, task lease.Task) ([]domain.Number, error)
	do  func(s leaseStep) (lease.SweepStep, error)

	progress []lease.SweepProgress

	mu    sync.Mutex
	steps []leaseStep
}

func (f *fakeLeases) SweepDue(_ context.Context, database string, task lease.Task) ([]domain.Number, error) {
	if f.due == nil {
		return nil, nil
	}
	return f.due(database, task)
}

func (f *fakeLeases) Sweep(_ context.Context, database string, task lease.Task, number domain.Number, _ int) (lease.SweepStep, error) {
	s := leaseStep{task, database, number}
	f.mu.Lock()
	f.steps = append(f.steps, s)
	f.mu.Unlock()
	if f.do == nil {
		return lease.SweepStep{Done: true}, nil
	}
	return f.do(s)
}

func (f *fakeLeases) SweepProgress(context.Context) ([]lease.SweepProgress, error) {
	return f.progress, nil
}

// asked is what it was asked so far of a task.
func (f *fakeLeases) asked(task lease.Task) (some []leaseStep) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.steps {
		if s.Task == task {
			some = append(some, s)
		}
	}
	return some
}
