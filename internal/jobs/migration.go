package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
)

// Migrations is what the jobs need of the migration domain. A slice of a run or of
// a scrub keeps its place in the domain's tables; of any number that are at the same
// one, each step commits once.
type Migrations interface {
	// Work goes on with a run, and Scrub with a scrub, until a time, until ctx ends,
	// or until it has ended for good.
	Work(ctx context.Context, tenant domain.TenantID, id domain.MigrationID, run domain.RunID, until time.Time) (ended bool, err error)
	Scrub(ctx context.Context, tenant domain.TenantID, id domain.MigrationID, report domain.ReportID, until time.Time) (ended bool, err error)
	// OpenWork gives the runs and the scrubs that haven't ended, those first that began first.
	OpenWork(ctx context.Context, limit int) ([]migration.OpenWork, error)
	// States and Unresolved are for the metrics.
	States(ctx context.Context) ([]migration.StateCount, error)
	Unresolved(ctx context.Context, database string) (migration.Unresolved, error)
}

const (
	// watchEvery is the time between two looks for work that has no job, or whose
	// worker has been silent for desertedAfter: one that lives tells every 5 s that it
	// is at it. So what a killed worker did goes on within half a minute.
	watchEvery    = 10 * time.Second
	desertedAfter = 20 * time.Second
	// openLimit is how many runs, and how many scrubs, are looked at.
	openLimit = 1000
	// runSlices and scrubSlices are how many a worker works at once.
	runSlices   = 2
	scrubSlices = 1
)

// queueOfRuns is the queue to which only workers of a build listen, since a plan is
// for one. A build's name may have any letters, and a queue's may not.
func queueOfRuns(build string) string {
	sum := sha256.Sum256([]byte(build))
	return "migration_" + hex.EncodeToString(sum[:8])
}
