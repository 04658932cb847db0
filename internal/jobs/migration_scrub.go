package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
)

// MigrationScrub reads a slice of all that a migration has moved, and hands on to
// the next. Of a tenant's scrubs one has a slice at a time.
type MigrationScrub struct {
	Tenant    domain.TenantID    `json:"tenant" river:"unique"`
	Migration domain.MigrationID `json:"migration"`
	Report    domain.ReportID    `json:"report"`
}

// Kind is the job's name in River's tables.
func (MigrationScrub) Kind() string { return "migration_scrub" }

// InsertOpts: any worker takes it, since what a digest is doesn't depend on the
// build.
func (MigrationScrub) InsertOpts() river.InsertOpts { return oneSlice(queueScrubs) }

// scrubOf is the job of an open scrub.
func scrubOf(w migration.OpenWork) MigrationScrub {
	return MigrationScrub{Tenant: w.Tenant, Migration: w.Migration, Report: domain.ReportID(w.ID)}
}

func newScrubWorker(shared *sweeping, o Options) *sliceWorker[MigrationScrub] {
	return &sliceWorker[MigrationScrub]{
		migrations: o.Migrations, control: o.Control, stopping: shared.stopping,
		work: func(ctx context.Context, j MigrationScrub, until time.Time) (bool, error) {
			return o.Migrations.Scrub(ctx, j.Tenant, j.Migration, j.Report, until)
		},
		beside: func(j MigrationScrub, w migration.OpenWork) (MigrationScrub, bool) {
			return scrubOf(w), w.Scrub && w.Tenant == j.Tenant
		},
	}
}
