package testkit

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Backup is a database as it was at one moment.
type Backup struct {
	installation *Installation
	database     string // on the server
	copy         string // likewise
	oid          uint32 // of the database
}

// Backup copies a database ("control", "data1", …) as it is now, file by file. Its
// connections are cut for that, as by a restart of the server.
func (in *Installation) Backup(t testing.TB, name string) Backup {
	t.Helper()
	b := Backup{installation: in, database: in.control}
	if name != "control" {
		i := slices.IndexFunc(in.data, func(database string) bool { return strings.HasSuffix(database, "_"+name) })
		if i < 0 {
			t.Fatalf("the test has no database %q", name)
		}
		b.database = in.data[i]
	}
	b.copy = b.database + "_backup_" + strings.ToLower(rand.Text()[:6])
	b.do(t, func(admin *pgx.Conn) error {
		if err := admin.QueryRow(t.Context(), `SELECT oid FROM pg_database WHERE datname = $1`, b.database).Scan(&b.oid); err != nil {
			return err
		}
		return b.copyDatabase(t.Context(), admin, b.database, b.copy, "")
	})
	t.Cleanup(func() {
		b.do(t, func(admin *pgx.Conn) error {
			_, err := admin.Exec(context.Background(), "DROP DATABASE IF EXISTS "+b.copy+" WITH (FORCE)")
			return err
		})
	})
	return b
}

// PutBack puts the database back to the moment of the backup, whoever is connected.
// It is another database then, as one that was restored from a dump is.
func (b Backup) PutBack(t testing.TB) {
	t.Helper()
	b.putBack(t, "")
}

// PutBackWhole likewise puts the database back as the very same, as a recovery of
// its whole server to a point in time does.
func (b Backup) PutBackWhole(t testing.TB) {
	t.Helper()
	b.putBack(t, fmt.Sprintf(" OID %d", b.oid))
}

func (b Backup) putBack(t testing.TB, options string) {
	t.Helper()
	b.do(t, func(admin *pgx.Conn) error {
		if _, err := admin.Exec(t.Context(), "DROP DATABASE "+b.database+" WITH (FORCE)"); err != nil {
			return err
		}
		return b.copyDatabase(t.Context(), admin, b.copy, b.database, options)
	})
}

func (b Backup) do(t testing.TB, fn func(admin *pgx.Conn) error) {
	t.Helper()
	ctx := context.Background()
	admin, err := b.installation.serverOf(b.database).connect(ctx)
	if err == nil {
		defer admin.Close(ctx)
		err = fn(admin)
	}
	if err != nil {
		t.Fatal(err)
	}
}

const sqlCutConnections = `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1`

// copyDatabase keeps connections away from what it copies: a template must have
// none.
func (b Backup) copyDatabase(ctx context.Context, admin *pgx.Conn, from, to, options string) error {
	for _, step := range []struct {
		sql  string
		args []any
	}{
		{"ALTER DATABASE " + from + " ALLOW_CONNECTIONS false", nil},
		{sqlCutConnections, []any{from}},
		{"CREATE DATABASE " + to + " OWNER holdfast_owner TEMPLATE " + from + " STRATEGY file_copy" + options, nil},
		{"ALTER DATABASE " + from + " ALLOW_CONNECTIONS true", nil},
	} {
		if _, err := admin.Exec(ctx, step.sql, step.args...); err != nil {
			return err
		}
	}
	return nil
}
