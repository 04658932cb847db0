package testkit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"

	migrations "github.com/holdfast-dev/holdfast/db/migrations"
	"github.com/holdfast-dev/holdfast/internal/jobs/riverschema"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/schema"
)

// templates are the migrated databases that a test's own are copied from: a
// control database, and one data database for each share of the numbers. They
// are named by a digest of what they are made of, and made by whichever test
// process needs them first.
type templates struct {
	server  server
	control string
	data    []string // by share, in the order of the numbers
}

// templates names the templates of an installation of n data databases.
func (s server) templates(n int) (templates, error) {
	digest, err := s.schemaDigest()
	if err != nil {
		return templates{}, err
	}
	t := templates{server: s, control: fmt.Sprintf("hft_%s_control%d", digest, n)}
	for i := range n {
		t.data = append(t.data, fmt.Sprintf("hft_%s_data%dof%d", digest, i+1, n))
	}
	return t, nil
}

// schemaDigest covers the migrations, River's version, and the passwords, since
// making the templates is what sets those.
func (s server) schemaDigest() (string, error) {
	sum := sha256.New()
	for _, files := range []fs.FS{migrations.Control, migrations.Data} {
		err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := fs.ReadFile(files, path)
			fmt.Fprintf(sum, "%s %d\n%s", path, len(content), content)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	river, err := riverschema.Versions()
	if err != nil {
		return "", err
	}
	fmt.Fprintf(sum, "river %v\n%s\n%s\n", river, s.password(postgres.RoleOwner), s.passwords())
	return hex.EncodeToString(sum.Sum(nil)[:6]), nil
}

const sqlCountTemplates = `SELECT count(*) FROM pg_database WHERE datname = ANY($1)`

// ensure makes the templates unless they are there.
func (t templates) ensure(ctx context.Context, admin *pgx.Conn) error {
	if found, err := t.exist(ctx, admin); found || err != nil {
		return err
	}
	if _, err := admin.Exec(ctx, `SELECT pg_advisory_lock(hashtextextended('holdfast/test-templates', 0))`); err != nil {
		return err
	}
	defer admin.Exec(ctx, `SELECT pg_advisory_unlock_all()`) // else closing the connection does
	if found, err := t.exist(ctx, admin); found || err != nil {
		return err
	}
	return t.build(ctx, admin)
}

func (t templates) exist(ctx context.Context, admin *pgx.Conn) (bool, error) {
	names := append([]string{t.control}, t.data...)
	var found int
	err := admin.QueryRow(ctx, sqlCountTemplates, names).Scan(&found)
	return found == len(names), err
}

// build makes the databases under names of their own. Each gets its template's
// name when all are complete, so whatever stops the build leaves nothing that
// looks like the templates.
func (t templates) build(ctx context.Context, admin *pgx.Conn) error {
	if err := t.ensureOwner(ctx, admin); err != nil {
		return err
	}
	draft := t.draft()
	databases := append([]string{draft.control}, draft.data...)
	for _, name := range databases {
		drop := "DROP DATABASE IF EXISTS " + name + " WITH (FORCE)"
		create := "CREATE DATABASE " + name + " OWNER holdfast_owner"
		for _, sql := range []string{drop, create} {
			if _, err := admin.Exec(ctx, sql); err != nil {
				return err
			}
		}
	}
	if err := draft.migrate(ctx); err != nil {
		return err
	}
	for i, final := range append([]string{t.control}, t.data...) {
		drop := "DROP DATABASE IF EXISTS " + final + " WITH (FORCE)"
		rename := "ALTER DATABASE " + databases[i] + " RENAME TO " + final
		for _, sql := range []string{drop, rename} {
			if _, err := admin.Exec(ctx, sql); err != nil {
				return err
			}
		}
	}
	return nil
}

// draft are the same templates under the names that they are built under.
func (t templates) draft() templates {
	d := templates{server: t.server, control: t.control + "_draft"}
	for _, name := range t.data {
		d.data = append(d.data, name+"_draft")
	}
	return d
}

// ensureOwner makes the role that hosting would have made: it may make roles,
// and is no superuser.
func (t templates) ensureOwner(ctx context.Context, admin *pgx.Conn) error {
	var exists bool
	err := admin.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = 'holdfast_owner')`).Scan(&exists)
	if err != nil {
		return err
	}
	if !exists {
		if _, err := admin.Exec(ctx, `CREATE ROLE holdfast_owner`); err != nil {
			return err
		}
	}
	var sql string
	err = admin.QueryRow(ctx, `SELECT format('ALTER ROLE holdfast_owner LOGIN CREATEROLE NOSUPERUSER NOBYPASSRLS PASSWORD %L', $1::text)`,
		t.server.password(postgres.RoleOwner)).Scan(&sql)
	if err != nil {
		return err
	}
	_, err = admin.Exec(ctx, sql)
	return err
}

// migrate does what "holdfast schema up" does.
func (t templates) migrate(ctx context.Context) error {
	installation := Installation{server: t.server, control: t.control, data: t.data}
	router, err := postgres.Open(ctx, installation.Settings(postgres.RoleOwner))
	if err != nil {
		return err
	}
	defer router.Close()
	return schema.Up(ctx, router, t.server.passwords(), func(database, done string) {})
}
