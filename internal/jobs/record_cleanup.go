package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// RecordCleanup removes what has had its time in the record domain: receipts,
// batches, claims. In all numbers of one data database and for all tenants.
type RecordCleanup struct {
	Database string `json:"database"`
}

// Kind is the job's name in River's tables.
func (RecordCleanup) Kind() string { return "record_cleanup" }

// InsertOpts: one job a database.
func (RecordCleanup) InsertOpts() river.InsertOpts { return oneOnDatabase(queueRecords) }

// recordPage is in rows, which are deleted collection by collection.
const recordPage = 250

// recordCleaner works the cleanup. A run goes over every task in every number.
type recordCleaner struct {
	river.WorkerDefaults[RecordCleanup]
	cleaner[record.CleanupTask]
}

func newRecordCleaner(shared *sweeping, o Options) *recordCleaner {
	family := func(record.CleanupTask) domain.Family { return record.FamilyCollection }
	clean := func(ctx context.Context, database string, task record.CleanupTask, number domain.Number, limit int) (identity.SweepStep, error) {
		step, err := o.Records.Cleanup(ctx, database, task, number, limit)
		return identity.SweepStep(step), err
	}
	return &recordCleaner{cleaner: newCleaner(shared, o.Databases, record.CleanupTasks(), recordPage, family, clean)}
}

// Work does one run.
func (c *recordCleaner) Work(ctx context.Context, job *river.Job[RecordCleanup]) error {
	return c.work(ctx, job.Args.Database)
}
