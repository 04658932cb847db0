package jobs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

// Inserter asks for jobs and works none: it is the API's.
type Inserter struct {
	client *client
}

// NewInserter makes an inserter. The pool is the control database's.
func NewInserter(control *pgxpool.Pool, tel *telemetry.Telemetry) (*Inserter, error) {
	client, err := newClient(control, baseConfig(tel))
	if err != nil {
		return nil, err
	}
	return &Inserter{client}, nil
}

// IdentitySweep asks for a sweep of each data database at once, whenever its
// schedule would come. It gives the databases for which no other was waiting or
// under way; those that are left out are swept all the same.
//
// Errors: unavailable jobs_unavailable.
func (i *Inserter) IdentitySweep(ctx context.Context, databases ...string) (asked []string, err error) {
	return i.ask(ctx, databases, func(database string) river.JobArgs { return IdentitySweep{database} })
}

// IdentityCleanup asks for a cleanup of each data database, as IdentitySweep does
// for a sweep.
func (i *Inserter) IdentityCleanup(ctx context.Context, databases ...string) (asked []string, err error) {
	return i.ask(ctx, databases, func(database string) river.JobArgs { return IdentityCleanup{database} })
}

// Snapshots asks for a run on each data database that goes on with the snapshots
// that are due there, as IdentitySweep does for a sweep.
func (i *Inserter) Snapshots(ctx context.Context, databases ...string) (asked []string, err error) {
	return i.ask(ctx, databases, func(database string) river.JobArgs { return RecordSnapshot{database} })
}

// RecordCleanup asks for a cleanup of the records' domain on each data database.
func (i *Inserter) RecordCleanup(ctx context.Context, databases ...string) (asked []string, err error) {
	return i.ask(ctx, databases, func(database string) river.JobArgs { return RecordCleanup{database} })
}

// RecordObjects asks for a run on each data database that goes on with the count of
// its objects.
func (i *Inserter) RecordObjects(ctx context.Context, databases ...string) (asked []string, err error) {
	return i.ask(ctx, databases, func(database string) river.JobArgs { return RecordObjects{database} })
}

// MigrationRun asks for the first slice of a run. The watch asks for it too, a little
// later, so that a failure delays the run and no more.
//
// Errors: unavailable jobs_unavailable.
func (i *Inserter) MigrationRun(ctx context.Context, run migration.OpenWork) error {
	_, err := i.client.Insert(ctx, runOf(run), nil)
	return insertFailed(err)
}

// MigrationScrub asks for the first slice of a scrub, as MigrationRun does for a
// run's.
func (i *Inserter) MigrationScrub(ctx context.Context, scrub migration.OpenWork) error {
	_, err := i.client.Insert(ctx, scrubOf(scrub), nil)
	return insertFailed(err)
}

func (i *Inserter) ask(ctx context.Context, databases []string, job func(database string) river.JobArgs) (asked []string, err error) {
	if len(databases) == 0 {
		return nil, nil
	}
	params := make([]river.InsertManyParams, len(databases))
	for n, database := range databases {
		params[n].Args = job(database)
	}
	results, err := i.client.InsertMany(ctx, params)
	if err != nil {
		return nil, insertFailed(err)
	}
	for _, result := range results {
		if result.UniqueSkippedAsDuplicate {
			continue
		}
		var args struct {
			Database string `json:"database"`
		}
		if err := json.Unmarshal(result.Job.EncodedArgs, &args); err != nil {
			return nil, fmt.Errorf("the arguments of job %d: %w", result.Job.ID, err)
		}
		asked = append(asked, args.Database)
	}
	return asked, nil
}

// insertFailed judges a failure to ask for unique jobs. Where nobody can know
// whether they were committed, that is no outcome to worry about: they can be
// asked for again.
func insertFailed(err error) error {
	if err = postgres.Classify(err); domain.KindOf(err) != domain.KindUnavailable {
		return err
	}
	return domain.Unavailable("jobs_unavailable",
		"Work can't be asked for at the moment, since the control database can't be reached or is too busy. Ask again: twice is harmless.").Because(err)
}
