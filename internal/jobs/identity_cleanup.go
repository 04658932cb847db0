package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// IdentityCleanup removes what has had its time in the identity domain, in all
// numbers of one data database and for all tenants.
type IdentityCleanup struct {
	Database string `json:"database"`
}

// Kind is the job's name in River's tables.
func (IdentityCleanup) Kind() string { return "identity_cleanup" }

// InsertOpts: one job a database.
func (IdentityCleanup) InsertOpts() river.InsertOpts { return oneOnDatabase(queueCleanup) }

// identityCleaner works the cleanup. A run goes over every task in every number.
type identityCleaner struct {
	river.WorkerDefaults[IdentityCleanup]
	cleaner[identity.CleanupTask]
}

// identityPage is in candidates, each a few small transactions.
const identityPage = 50

func newIdentityCleaner(shared *sweeping, databases []*postgres.Database) *identityCleaner {
	return &identityCleaner{cleaner: newCleaner(shared, databases, identity.CleanupTasks(), identityPage, identity.CleanupTask.Family, shared.domain.Cleanup)}
}

// Work does one run.
func (c *identityCleaner) Work(ctx context.Context, job *river.Job[IdentityCleanup]) error {
	return c.work(ctx, job.Args.Database)
}
