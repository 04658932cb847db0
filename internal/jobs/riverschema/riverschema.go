// Package riverschema runs and checks River's own migrations. It stands apart
// from the job kinds, which import the domain, so that tests of the domain can
// have a schema.
package riverschema

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// sqlGrants: the API inserts jobs, and asks for their end; the worker runs them
// all, elects leaders and cleans up. Both check the versions at start. River's
// tables belong to no tenant and hold no contents, so they have no row-level
// security.
const sqlGrants = `
GRANT SELECT ON river_migration TO holdfast_api, holdfast_worker;
GRANT SELECT, INSERT, UPDATE ON river_job TO holdfast_api;
GRANT SELECT ON river_queue, river_leader TO holdfast_api;
GRANT SELECT, INSERT, UPDATE, DELETE
   ON river_job, river_queue, river_leader, river_notification TO holdfast_worker;
GRANT USAGE, SELECT ON SEQUENCE river_job_id_seq TO holdfast_api, holdfast_worker;
GRANT USAGE, SELECT ON SEQUENCE river_notification_id_seq TO holdfast_worker`

// Migrate applies River's pending migrations to the control database, each in
// a transaction of its own, and gives the versions that it applied. It runs as
// the owner, and alone (postgres.LockSchema): River's migrator takes no lock of
// its own.
func Migrate(ctx context.Context, control *pgxpool.Pool) ([]int, error) {
	migrator, err := newMigrator(control)
	if err != nil {
		return nil, err
	}
	result, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	if err != nil {
		return nil, fmt.Errorf("river migrations: %w", err)
	}
	var applied []int
	for _, version := range result.Versions {
		applied = append(applied, version.Version)
	}
	if _, err := control.Exec(ctx, sqlGrants); err != nil {
		return applied, fmt.Errorf("river grants: %w", err)
	}
	return applied, nil
}

func newMigrator(control *pgxpool.Pool) (*rivermigrate.Migrator[pgx.Tx], error) {
	return rivermigrate.New(riverpgxv5.New(control), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
}

// Versions are River's versions that this build knows, ascending.
func Versions() ([]int64, error) {
	migrator, err := newMigrator(nil)
	if err != nil {
		return nil, err
	}
	var versions []int64
	for _, version := range migrator.AllVersions() {
		versions = append(versions, int64(version.Version))
	}
	return versions, nil
}

const sqlVersions = `SELECT version FROM river_migration WHERE line = 'main' ORDER BY version`

// ReadStatus compares River's applied versions with those of this build.
func ReadStatus(ctx context.Context, control *pgxpool.Pool) (postgres.SchemaStatus, error) {
	known, err := Versions()
	if err != nil {
		return postgres.SchemaStatus{}, err
	}
	rows, _ := control.Query(ctx, sqlVersions)
	applied, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "42P01" { // undefined_table
		return postgres.CompareVersions(known, nil), nil
	}
	if err != nil {
		return postgres.SchemaStatus{}, err
	}
	return postgres.CompareVersions(known, applied), nil
}

// Check refuses a control database whose River schema is not the one of
// this build. The API, which inserts jobs, and the worker call it at start.
func Check(ctx context.Context, control *pgxpool.Pool) error {
	status, err := ReadStatus(ctx, control)
	if err == nil {
		err = status.Check()
	}
	if err != nil {
		return fmt.Errorf("river, control database: %w", err)
	}
	return nil
}
