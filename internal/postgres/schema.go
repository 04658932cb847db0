package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

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
const sqlReadVersions = `GRANT SELECT ON %s TO holdfast_api, holdfast_worker`

// Migrate applies the set's pending migrations, each in a transaction of its
// own, and gives the names of those that it applied. It runs as the owner, and
// alone (LockSchema); goose's lock, the session's as that one is, covers a
// database that two installations were given by mistake. An interrupted run
// leaves whole migrations behind and may be repeated.
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
	_, err = db.Exec(ctx, fmt.Sprintf(sqlReadVersions, set.table()))
	return applied, err
}
