package jobs_test

import (
	"context"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// recordStep is one call of the record domain.
type recordStep struct {
	Kind     string // a cleanup's task, "objects" or "snapshot"
	Database string
	Number   domain.Number
	Snapshot record.DueSnapshot
}

// fakeRecords is a record domain that has nothing to do, unless it is told
// otherwise. It keeps what it was asked, in order.
type fakeRecords struct {
	snapshots func(database string) ([]record.DueSnapshot, error)
	objects   func(database string) ([]domain.Number, error)
	do        func(ctx context.Context, s recordStep) (record.SweepStep, error)

	progress     []record.SweepProgress
	unreferenced record.Unreferenced

	mu    sync.Mutex
	steps []recordStep
}

func (f *fakeRecords) step(ctx context.Context, s recordStep) (record.SweepStep, error) {
	f.mu.Lock()
	f.steps = append(f.steps, s)
	f.mu.Unlock()
	if f.do == nil {
		return record.SweepStep{Done: true}, nil
	}
	return f.do(ctx, s)
}

func (f *fakeRecords) Cleanup(ctx context.Context, database string, task record.CleanupTask, number domain.Number, _ int) (record.SweepStep, error) {
	return f.step(ctx, recordStep{Kind: string(task), Database: database, Number: number})
}

func (f *fakeRecords) SnapshotsDue(_ context.Context, database string, _ int) ([]record.DueSnapshot, error) {
	if f.snapshots == nil {
		return nil, nil
	}
	return f.snapshots(database)
}

func (f *fakeRecords) StepSnapshot(ctx context.Context, due record.DueSnapshot) (record.SweepStep, error) {
	return f.step(ctx, recordStep{Kind: "snapshot", Snapshot: due})
}

func (f *fakeRecords) ObjectsDue(_ context.Context, database string) ([]domain.Number, error) {
	if f.objects == nil {
		return nil, nil
	}
	return f.objects(database)
}

func (f *fakeRecords) CountObjects(ctx context.Context, database string, number domain.Number) (record.SweepStep, error) {
	return f.step(ctx, recordStep{Kind: "objects", Database: database, Number: number})
}

func (f *fakeRecords) SweepProgress(context.Context) ([]record.SweepProgress, error) {
	return f.progress, nil
}

func (f *fakeRecords) Unreferenced(context.Context, string) (record.Unreferenced, error) {
	return f.unreferenced, nil
}

// asked is what it was asked so far of a kind.
func (f *fakeRecords) asked(kind string) (some []recordStep) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.steps {
		if s.Kind == kind {
			some = append(some, s)
		}
	}
	return some
}
