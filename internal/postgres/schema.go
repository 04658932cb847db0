package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	migrations "github.com/holdfast-dev/holdfast/db/migrations"
)

// MigrationSet is one of the two sets of numbered SQL. One database may have
// both: each set keeps its versions in a table of its own.
type MigrationSet string

const (
	ControlSet MigrationSet = "control"
	DataSet    MigrationSet = "data"
)

// table is where goose keeps the set's applied versions.
func (s MigrationSet) table() string { return "goose_" + string(s) }

func (s MigrationSet) files() (fs.FS, error) {
	if s == ControlSet {
		return fs.Sub(migrations.Control, "control")
	}
	return fs.Sub(migrations.Data, "data")
}

// Versions are the set's versions that this build knows, ascending.
func (s MigrationSet) Versions() ([]int64, error) {
	files, err := s.files()
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	versions := make([]int64, 0, len(names))
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return nil, fmt.Errorf("migration %s: %w", name, err)
		}
		versions = append(versions, version)
	}
	slices.Sort(versions)
	return versions, nil
}

// sqlReadVersions lets the processes that serve check the versions at start.
// Two that grant at once would meet on the table's catalog row.
const (
	sqlLockGrant    = `SELECT pg_advisory_xact_lock(hashtextextended('holdfast/schema-grants', 0))`
	sqlReadVersions = `GRANT SELECT ON %s TO holdfast_api, holdfast_worker`
)

// Migrate applies the set's pending migrations, each in a transaction of its
// own, and gives the names of those that it applied. It runs as the owner, over
// a direct connection: the lock that keeps two runs apart is the session's. An
// interrupted run leaves whole migrations behind and may be repeated.
func Migrate(ctx context.Context, db *pgxpool.Pool, set MigrationSet) ([]string, error) {
	applied, err := migrate(ctx, db, set)
	if err != nil {
		return applied, fmt.Errorf("%s migrations: %w", set, err)
	}
	return applied, nil
}

func migrate(ctx context.Context, db *pgxpool.Pool, set MigrationSet) ([]string, error) {
	files, err := set.files()
	if err != nil {
		return nil, err
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300)) // tries each second, for five minutes
	if err != nil {
		return nil, err
	}
	conn := stdlib.OpenDBFromPool(db)
	defer conn.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, conn, files,
		goose.WithTableName(set.table()), goose.WithSessionLocker(locker), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, err
	}
	results, err := provider.Up(ctx)
	var partial *goose.PartialError
	if errors.As(err, &partial) {
		results = partial.Applied
	}
	var applied []string
	for _, result := range results {
		applied = append(applied, path.Base(result.Source.Path))
	}
	if err != nil {
		return applied, err
	}
	return applied, pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(sqlLockGrant)
		batch.Queue(fmt.Sprintf(sqlReadVersions, set.table()))
		return tx.SendBatch(ctx, batch).Close()
	})
}

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
