package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// Roles are the server's: schema up on several of its databases makes the same
// ones at the same time.
func TestEnsureRoles_FromSeveralDatabasesAtOnce(t *testing.T) {
	t.Parallel()
	installation := testkit.EmptyDatabases(t, 3)
	settings := installation.Settings(postgres.RoleOwner)
	passwords := postgres.Passwords{
		API:    installation.Settings(postgres.RoleAPI).Password,
		Worker: installation.Settings(postgres.RoleWorker).Password,
	}
	router := installation.Router(t, postgres.RoleOwner)
	var group errgroup.Group
	for _, db := range router.Databases() {
		for range 4 {
			group.Go(func() error { return postgres.EnsureRoles(t.Context(), db.Pool, passwords) })
		}
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{postgres.RoleAPI, postgres.RoleWorker} {
		settings.Role, settings.Password = role, installation.Settings(role).Password
		serving, err := postgres.Open(t.Context(), settings)
		if err != nil {
			t.Fatal(err)
		}
		defer serving.Close()
		var got string
		err = serving.Control().QueryRow(t.Context(), `
			SELECT concat_ws(' ', current_setting('lock_timeout'), current_setting('statement_timeout'),
			                      current_setting('idle_in_transaction_session_timeout'),
			                      current_setting('enable_seqscan'), current_setting('plan_cache_mode'), current_setting('jit'))`).Scan(&got)
		if err != nil || got != "3s 10s 10s off force_generic_plan off" {
			t.Errorf("%s has the settings %q, %v; want 3s 10s 10s off force_generic_plan off", role, got, err)
		}
	}
}

// The statement is tried with a role that nobody has, since the fixed ones are
// there as soon as the first test was.
func TestCreateRole_TwoAtOnce(t *testing.T) {
	t.Parallel()
	installation := testkit.EmptyDatabases(t, 2)
	router := installation.Router(t, postgres.RoleOwner)
	var role string
	err := router.Control().QueryRow(t.Context(), `SELECT current_database() || '_role'`).Scan(&role)
	if err != nil {
		t.Fatal(err)
	}
	admin := installation.Admin(t, "control")
	t.Cleanup(func() {
		if _, err := admin.Exec(context.Background(), "DROP ROLE "+role); err != nil {
			t.Error(err)
		}
	})

	first, err := router.Control().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Rollback(t.Context())
	create := fmt.Sprintf(postgres.SQLCreateRole, role)
	if _, err := first.Exec(t.Context(), create); err != nil {
		t.Fatal(err)
	}
	// The second doesn't see the first's role and waits for it at the index.
	var group errgroup.Group
	group.Go(func() error {
		_, err := router.Databases()[0].Pool.Exec(t.Context(), create)
		return err
	})
	waitUntil(t, installation, `SELECT EXISTS (SELECT FROM pg_stat_activity
		WHERE wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%')`, role)
	if err := first.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := group.Wait(); err != nil {
		t.Errorf("the second: %v", err)
	}
}

func TestEnsureRoles_RefusesRolesThatSeeEverything(t *testing.T) {
	t.Parallel()
	admin := testkit.Databases(t, 1).Admin(t, "control")
	for _, grant := range []string{
		"ALTER ROLE holdfast_worker BYPASSRLS",
		"ALTER ROLE holdfast_worker SUPERUSER",
		"GRANT holdfast_owner TO holdfast_worker",
		"GRANT holdfast_scanner TO holdfast_worker",
	} {
		err := ensureRolesAfter(t, admin, grant)
		if err == nil || !strings.Contains(err.Error(), "[holdfast_worker]") && !isCircularGrant(err) {
			t.Errorf("after %s: %v, want a refusal of holdfast_worker", grant, err)
		}
	}
}

// ensureRolesAfter changes the roles in a transaction that is rolled back, so
// that nobody else ever sees them so.
func ensureRolesAfter(t *testing.T, admin *pgxpool.Pool, grant string) error {
	t.Helper()
	tx, err := admin.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), postgres.SQLLockRoles+"; "+grant); err != nil {
		return err
	}
	return postgres.EnsureRolesTx(t.Context(), tx, postgres.Passwords{})
}

// isCircularGrant tells that the server itself refused: from PostgreSQL 16 on,
// who made a role is a member of it.
func isCircularGrant(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "0LP01" // invalid_grant_operation
}

func TestServingRoles_OwnNothing(t *testing.T) {
	t.Parallel()
	installation := testkit.Databases(t, 1)
	for _, database := range []string{"control", "data1"} {
		rows, _ := installation.Admin(t, database).Query(t.Context(), `
			SELECT relname::text FROM pg_class WHERE pg_get_userbyid(relowner) IN ('holdfast_api', 'holdfast_worker')
			UNION ALL
			SELECT proname::text FROM pg_proc WHERE pg_get_userbyid(proowner) IN ('holdfast_api', 'holdfast_worker')`)
		owned, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil || len(owned) > 0 {
			t.Errorf("on %s the serving roles own %v, %v; want nothing", database, owned, err)
		}
	}
}

// Tables without it are the migrations' own and River's, which hold no
// tenant's rows.
func TestSchema_ForcesRowLevelSecurityOnEveryTable(t *testing.T) {
	t.Parallel()
	installation := testkit.Databases(t, 1)
	for database, want := range map[string][]string{
		"control": {"goose_control", "river_job", "river_leader", "river_migration", "river_notification", "river_queue"},
		"data1":   {"goose_data"},
	} {
		rows, _ := installation.Admin(t, database).Query(t.Context(), `
			SELECT relname::text FROM pg_class
			 WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND relnamespace = 'public'::regnamespace
			   AND NOT (relrowsecurity AND relforcerowsecurity)
			 ORDER BY relname`)
		got, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("relations of %s without forced row-level security (-want +got):\n%s", database, diff)
		}
	}
}
