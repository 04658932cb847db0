package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// SchemaStatus compares a database's applied versions with those of this build.
type SchemaStatus struct {
	Applied []int64 // ascending
	Pending []int64 // known to this build and not applied
	Unknown []int64 // applied and not known to this build: a newer one was here
}

// sqlVersions: goose's row of version 0 only says that its table was made.
const sqlVersions = `SELECT version_id FROM %s WHERE is_applied AND version_id > 0 ORDER BY version_id`

// ReadSchemaStatus reads what is applied of a set. A database without any
// schema has everything pending. Every role but the scanner may ask.
func ReadSchemaStatus(ctx context.Context, db *pgxpool.Pool, set MigrationSet) (SchemaStatus, error) {
	known, err := set.Versions()
	if err != nil {
		return SchemaStatus{}, err
	}
	rows, _ := db.Query(ctx, fmt.Sprintf(sqlVersions, set.table()))
	applied, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "42P01" { // undefined_table
		return CompareVersions(known, nil), nil
	}
	if err != nil {
		return SchemaStatus{}, err
	}
	return CompareVersions(known, applied), nil
}

// CompareVersions tells what is pending and what is unknown.
func CompareVersions(known, applied []int64) SchemaStatus {
	return SchemaStatus{Applied: applied, Pending: without(known, applied), Unknown: without(applied, known)}
}

func without(all, some []int64) []int64 {
	return slices.DeleteFunc(slices.Clone(all), func(v int64) bool { return slices.Contains(some, v) })
}

// Check is nil when the database has exactly the versions of this build, else
// an error that says what to run.
func (s SchemaStatus) Check() error {
	switch {
	case len(s.Unknown) > 0:
		return fmt.Errorf("the schema is newer than this build (it has versions %v): run the build that made it, or a later one", s.Unknown)
	case len(s.Pending) > 0:
		return fmt.Errorf("the schema lacks versions %v: run holdfast schema up", s.Pending)
	default:
		return nil
	}
}

// CheckSchema refuses any schema but this build's, on the control database and
// on every data database. The processes that serve call it at start: they never
// migrate.
func CheckSchema(ctx context.Context, router *Router) error {
	if err := checkSchema(ctx, router.Control(), ControlSet); err != nil {
		return fmt.Errorf("control database: %w", err)
	}
	for _, db := range router.Databases() {
		if err := checkSchema(ctx, db.Pool, DataSet); err != nil {
			return fmt.Errorf("data database %s: %w", db.Name, err)
		}
	}
	return nil
}

func checkSchema(ctx context.Context, db *pgxpool.Pool, set MigrationSet) error {
	status, err := ReadSchemaStatus(ctx, db, set)
	if err != nil {
		return err
	}
	return status.Check()
}
