package migrations_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// table is what the catalogue says of one.
type table struct {
	Name     string
	Owner    string
	Forced   bool // row-level security, also on the owner
	Policies int
	ByTenant bool // its primary key begins with the tenant
}

const sqlTables = `
SELECT c.relname, pg_get_userbyid(c.relowner), c.relrowsecurity AND c.relforcerowsecurity,
       (SELECT count(*) FROM pg_policy p WHERE p.polrelid = c.oid),
       coalesce((SELECT a.attname = 'tenant_id' FROM pg_index i
                   JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
                  WHERE i.indrelid = c.oid AND i.indisprimary), false)
  FROM pg_class c
 WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
   AND c.relname NOT LIKE 'goose%' AND c.relname NOT LIKE 'river%'
 ORDER BY c.relname`

func tables(t *testing.T, admin *pgxpool.Pool) []table {
	t.Helper()
	rows, _ := admin.Query(t.Context(), sqlTables)
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[table])
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// These belong to the operators and to no tenant. Whoever adds a table to the
// list has thought about who may read it.
var operators = map[string][]string{
	"control": {"audit_log", "checkpoint_keys", "deployments", "installation", "qualifications", "revocation_counter", "revocations", "schedules", "signing_keys"},
	"data1":   {"lease_sweeps", "number_gates", "object_sweeps", "record_sweeps", "restores", "sweeps"},
}

func TestEveryTable_IsTheOwnersAndForcedByTenant(t *testing.T) {
	t.Parallel()
	in := testkit.Databases(t, 1)
	for _, database := range []string{"control", "data1"} {
		var ofOperators []string
		for _, found := range tables(t, in.Admin(t, database)) {
			if found.Owner != postgres.RoleOwner || !found.Forced || found.Policies == 0 {
				t.Errorf("%s.%s: %+v", database, found.Name, found)
			}
			if !found.ByTenant {
				ofOperators = append(ofOperators, found.Name)
			}
		}
		if diff := cmp.Diff(operators[database], ofOperators); diff != "" {
			t.Errorf("%s: tables that are not keyed by tenant (-want +got):\n%s", database, diff)
		}
	}
}

// TestWithoutATenant_NothingIsSeen fills every table with rows of a tenant and
// reads each as the serving roles: with no tenant set, with the setting empty (as
// a pooled connection has it after a transaction), and as another tenant.
func TestWithoutATenant_NothingIsSeen(t *testing.T) {
	t.Parallel()
	in := testkit.Databases(t, 1)
	const mine, others = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
	for _, database := range []string{"control", "data1"} {
		admin := in.Admin(t, database)
		fill(t, admin, database, mine)
		for _, role := range []string{postgres.RoleAPI, postgres.RoleWorker} {
			router := in.Router(t, role)
			pool := router.Control()
			if database == "data1" {
				pool = router.Named("data1").Pool
			}
			for _, found := range tables(t, admin) {
				if found.Name == "number_gates" { // holds nothing of anybody's, and every process reads it
					continue
				}
				for _, setting := range []string{"", others} {
					if n := visible(t, pool, found.Name, setting); n != 0 {
						t.Errorf("%s sees %d rows of %s with the tenant set to %q", role, n, found.Name, setting)
					}
				}
			}
			if n := visible(t, pool, probe(database), mine); n != 1 && role == postgres.RoleAPI {
				t.Errorf("%s sees %d rows of its own tenant, want 1: the test proves nothing", role, n)
			}
		}
	}
}

// What is a record for good is nobody's to change or to delete: a journal, by what
// its entries are found, and that a world's id is used up.
func TestRecordsForGood_AreNobodysToDelete(t *testing.T) {
	t.Parallel()
	admin := testkit.Databases(t, 1).Admin(t, "data1")
	for table, privileges := range map[string]string{
		"worlds": "DELETE, TRUNCATE", "journal": "UPDATE, DELETE, TRUNCATE", "entry_ids": "UPDATE, DELETE, TRUNCATE", "lease_epochs": "UPDATE, DELETE, TRUNCATE",
	} {
		for _, role := range []string{postgres.RoleAPI, postgres.RoleWorker} {
			var any bool
			if err := admin.QueryRow(t.Context(), `SELECT has_table_privilege($1, $2, $3)`, role, table, privileges).Scan(&any); err != nil || any {
				t.Errorf("%s has one of %s on %s: %v", role, privileges, table, err)
			}
		}
	}
}

func probe(database string) string {
	if database == "control" {
		return "tenants"
	}
	return "accounts"
}

// visible counts the rows that the pool's role sees, with the tenant set so, or
// 0 if it may not read the table at all.
func visible(t *testing.T, pool *pgxpool.Pool, table, tenant string) (n int) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		var allowed bool
		if err := tx.QueryRow(t.Context(), `SELECT has_table_privilege($1, 'SELECT')`, table).Scan(&allowed); err != nil || !allowed {
			return err
		}
		if tenant != "" {
			if _, err := tx.Exec(t.Context(), `SELECT set_config('holdfast.tenant', $1, true)`, tenant); err != nil {
				return err
			}
		}
		return tx.QueryRow(t.Context(), `SELECT count(*) FROM `+pgx.Identifier{table}.Sanitize()).Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// sqlRowOf writes the statements that drop a table's checks, which are about
// meaning, and insert a row without any.
const sqlRowOf = `
SELECT (SELECT coalesce(string_agg(format('ALTER TABLE %I DROP CONSTRAINT %I', $1::text, n.conname), ';'), '')
          FROM pg_constraint n WHERE n.conrelid = c.oid AND n.contype = 'c'),
       format('INSERT INTO %I (%s) VALUES (%s)', $1::text, string_agg(quote_ident(a.attname), ', '),
              string_agg(CASE WHEN a.attname = 'tenant_id' THEN quote_literal($2::text)
                              WHEN a.atttypid = 'uuid'::regtype THEN 'gen_random_uuid()'
                              WHEN a.atttypid = 'timestamptz'::regtype THEN 'now()'
                              WHEN a.atttypid = 'boolean'::regtype THEN 'true'
                              WHEN a.atttypid = 'json'::regtype THEN $q$'{}'$q$
                              WHEN a.attndims > 0 THEN $q$'{}'$q$
                              WHEN a.atttypid = 'bytea'::regtype THEN $q$'\\x00'$q$
                              ELSE $q$'1'$q$ END, ', '))
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
 WHERE c.oid = $1::text::regclass
 GROUP BY c.oid`

// fill puts a row into every table, made from the columns' types, so that a new
// table is filled too.
func fill(t *testing.T, admin *pgxpool.Pool, database, tenant string) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), admin, func(tx pgx.Tx) error {
		// No foreign keys either.
		if _, err := tx.Exec(t.Context(), `SET LOCAL session_replication_role = replica`); err != nil {
			return err
		}
		for _, found := range tables(t, admin) {
			if slices.Contains([]string{"number_gates", "revocation_counter", "installation"}, found.Name) {
				continue // have rows already
			}
			var dropChecks, insert string
			if err := tx.QueryRow(t.Context(), sqlRowOf, found.Name, tenant).Scan(&dropChecks, &insert); err != nil {
				return err
			}
			if _, err := tx.Exec(t.Context(), dropChecks+";"+insert); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("fill %s: %v", database, err)
	}
}
