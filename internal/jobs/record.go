package jobs

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// Records is what the jobs need of the record domain. Each step is bounded, and
// keeps its place in the domain's tables; any number may run at once.
type Records interface {
	Cleanup(ctx context.Context, database string, task record.CleanupTask, number domain.Number, limit int) (record.SweepStep, error)
	// SnapshotsDue gives the snapshots on which there is work to do, one of each tenant.
	SnapshotsDue(ctx context.Context, database string, limit int) ([]record.DueSnapshot, error)
	StepSnapshot(ctx context.Context, due record.DueSnapshot) (record.SweepStep, error)
	// ObjectsDue gives the numbers whose objects are to be counted.
	ObjectsDue(ctx context.Context, database string) ([]domain.Number, error)
	CountObjects(ctx context.Context, database string, number domain.Number) (record.SweepStep, error)
	// SweepProgress tells how far the cleanup and the count are on each database.
	SweepProgress(ctx context.Context) ([]record.SweepProgress, error)
	// Unreferenced adds up what was counted on a database.
	Unreferenced(ctx context.Context, database string) (record.Unreferenced, error)
}

// Times between two runs on a database.
const (
	snapshotEvery = 30 * time.Second // who asks for a snapshot asks for a run, too
	objectsEvery  = 10 * time.Minute // a run goes on with the passes of the day
)
