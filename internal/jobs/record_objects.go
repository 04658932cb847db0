package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// RecordObjects counts the objects that nothing refers to, and removes those that
// snapshots have left. In all numbers of one data database and for all tenants.
type RecordObjects struct {
	Database string `json:"database"`
}

// Kind is the job's name in River's tables.
func (RecordObjects) Kind() string { return "record_objects" }

// InsertOpts: one job a database.
func (RecordObjects) InsertOpts() river.InsertOpts { return oneOnDatabase(queueRecords) }

func (j RecordObjects) on() string { return j.Database }

// kindObjects is what the sweeps' metrics and their progress call the count.
const kindObjects = "objects"

func newRecordObjects(shared *sweeping, o Options) *numbersWorker[RecordObjects] {
	return newNumbersWorker[RecordObjects](numbersTask{
		sweeping: shared, kind: kindObjects, family: record.FamilyCollection, here: withNumbers(o.Databases),
		due: o.Records.ObjectsDue,
		sweep: func(ctx context.Context, database string, number domain.Number) (identity.SweepStep, error) {
			step, err := o.Records.CountObjects(ctx, database, number)
			return identity.SweepStep(step), err
		},
	})
}
