package postgres_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

var sets = []postgres.MigrationSet{postgres.ControlSet, postgres.DataSet}

func TestMigrate_BothSetsOnOneDatabase_AndAgainDoesNothing(t *testing.T) {
	t.Parallel()
	db := testkit.EmptyDatabases(t, 1).Router(t, postgres.RoleOwner).Control()
	for _, set := range sets {
		known, err := set.Versions()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{len(known), 0} {
			applied, err := postgres.Migrate(t.Context(), db, set)
			if err != nil || len(applied) != want {
				t.Fatalf("%s applied %v, %v; want %d migrations", set, applied, err, want)
			}
		}
	}
	for _, set := range sets {
		known, err := set.Versions()
		if err != nil {
			t.Fatal(err)
		}
		got, err := postgres.ReadSchemaStatus(t.Context(), db, set)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(postgres.SchemaStatus{Applied: known}, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s status (-want +got):\n%s", set, diff)
		}
	}
}

func TestLockSchema_OneAtATime(t *testing.T) {
	t.Parallel()
	installation := testkit.EmptyDatabases(t, 1)
	db := installation.Router(t, postgres.RoleOwner).Control()
	unlock, err := postgres.LockSchema(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	var group errgroup.Group
	group.Go(func() error {
		unlock, err := postgres.LockSchema(t.Context(), db)
		if err == nil {
			unlock()
		}
		return err
	})
	waitUntil(t, installation, `SELECT EXISTS (SELECT FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = 'advisory')`)
	unlock()
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

func TestCheckSchema_RefusesAnyOtherThanThisBuilds(t *testing.T) {
	t.Parallel()
	known, err := postgres.DataSet.Versions()
	if err != nil {
		t.Fatal(err)
	}
	last := known[len(known)-1]
	tests := map[string]struct {
		sql  string
		args []any
		want string
	}{
		"older": {`DELETE FROM goose_data WHERE version_id = $1`, []any{last},
			fmt.Sprintf("data database data1: the schema lacks versions [%d]: run holdfast schema up", last)},
		"newer": {`INSERT INTO goose_data (version_id, is_applied) VALUES (900, true)`, nil,
			"data database data1: the schema is newer than this build (it has versions [900]): run the build that made it, or a later one"},
		"none": {`DROP TABLE goose_data`, nil,
			fmt.Sprintf("data database data1: the schema lacks versions %v: run holdfast schema up", known)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			installation := testkit.Databases(t, 1)
			for _, role := range []string{postgres.RoleAPI, postgres.RoleWorker} {
				if err := postgres.CheckSchema(t.Context(), installation.Router(t, role)); err != nil {
					t.Errorf("%s refuses its own schema: %v", role, err)
				}
			}
			if _, err := installation.Admin(t, "data1").Exec(t.Context(), test.sql, test.args...); err != nil {
				t.Fatal(err)
			}
			for _, role := range []string{postgres.RoleAPI, postgres.RoleWorker} {
				if err := postgres.CheckSchema(t.Context(), installation.Router(t, role)); err == nil || err.Error() != test.want {
					t.Errorf("%s: %v\nwant: %s", role, err, test.want)
				}
			}
		})
	}
}

func TestVersions_AreDense(t *testing.T) {
	t.Parallel()
	for _, set := range sets {
		versions, err := set.Versions()
		if err != nil {
			t.Fatal(err)
		}
		want := make([]int64, len(versions))
		for i := range want {
			want[i] = int64(i + 1)
		}
		if !slices.Equal(versions, want) {
			t.Errorf("%s has the versions %v, want %v: two changes have taken one number, or one is lost", set, versions, want)
		}
	}
}
