package architecture

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// Each gives the table and what is wrong with it.
var schemaRules = map[string]string{
	"foreign key": `
SELECT c.conrelid::regclass::text, c.conname || ' refers to ' || c.confrelid::regclass::text || ' by ' ||
       (SELECT string_agg(a.attname, ', ') FROM pg_attribute a WHERE a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey))
  FROM pg_constraint c
 WHERE c.contype = 'f' AND c.connamespace = 'public'::regnamespace
   AND (c.conrelid::regclass::text = ANY ($1) OR c.confrelid::regclass::text = ANY ($1))
   AND NOT (c.conrelid::regclass::text = ANY ($1) AND c.confrelid::regclass::text = ANY ($1)
            AND (SELECT count(*) FROM unnest(c.conkey, c.confkey) AS k(own, other)
                   JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.own
                   JOIN pg_attribute b ON b.attrelid = c.confrelid AND b.attnum = k.other
                  WHERE a.attname = b.attname AND a.attname IN ('tenant_id', 'number')) = 2)`,
	"trigger": `
SELECT t.tgrelid::regclass::text, t.tgname FROM pg_trigger t WHERE NOT t.tgisinternal AND t.tgrelid::regclass::text = ANY ($1)`,
	"generated column": `
SELECT a.attrelid::regclass::text, a.attname FROM pg_attribute a
 WHERE a.attrelid::regclass::text = ANY ($1) AND a.attnum > 0 AND (a.attidentity <> '' OR a.attgenerated <> '' AND a.attname IN ('tenant_id', 'number'))`,
	"sequence": `
SELECT a.attrelid::regclass::text, a.attname FROM pg_attribute a JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
 WHERE a.attrelid::regclass::text = ANY ($1) AND pg_get_expr(d.adbin, d.adrelid) LIKE '%nextval%'`,
	"tenant column": `
SELECT c.relname::text, 'has no tenant_id that is a uuid and not null' FROM pg_class c
 WHERE c.oid::regclass::text = ANY ($1)
   AND NOT EXISTS (SELECT FROM pg_attribute a
                    WHERE a.attrelid = c.oid AND a.attname = 'tenant_id' AND a.attnotnull AND a.atttypid = 'uuid'::regtype)`,
	"function that writes": `
SELECT p.proname::text, 'is the scanner''s, and not STABLE' FROM pg_proc p
 WHERE p.pronamespace = 'public'::regnamespace AND p.proowner = 'holdfast_scanner'::regrole AND p.provolatile = 'v' AND $1::text[] IS NOT NULL`,
}

// checkSchema holds a data database to the rules for tables.
func checkSchema(t *testing.T, db *pgxpool.Pool, decisions map[string]decision) (found []finding) {
	t.Helper()
	c := readCatalogue(t, db, decisions)
	var distributed []string
	for name, table := range c.tables {
		distributed = append(distributed, name)
		for _, key := range table.keys {
			for _, column := range []string{"tenant_id", "number"} {
				if table.columns[column] && !slices.Contains(key, column) {
					found = append(found, finding{"key", fmt.Sprintf("%s has the key %v without %s", name, key, column)})
				}
			}
		}
	}
	for rule, sql := range schemaRules {
		rows, _ := db.Query(t.Context(), sql, distributed)
		all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ Of, What string }])
		if err != nil {
			t.Fatalf("%s: %v", rule, err)
		}
		for _, one := range all {
			found = append(found, finding{rule, one.Of + ": " + one.What})
		}
	}
	return found
}

// TestCitus_TheSchemaKeepsTheRules reads migrated databases. A control table that
// referred to a tenant's couldn't be made here, since they stand apart.
func TestCitus_TheSchemaKeepsTheRules(t *testing.T) {
	t.Parallel()
	in := testkit.Databases(t, 1)
	for database, file := range map[string]string{"control": "control.sql", "data1": "data.sql"} {
		for _, f := range checkSchema(t, in.Admin(t, database), readDecisions(t, filepath.Join(citusFolder, file))) {
			t.Errorf("%s breaks %q: %s", database, f.rule, f.what)
		}
	}
}

// Each fault is made in a database of its own, and has to be found by its rule.
func TestCitus_FaultsOfTheSchemaAreFound(t *testing.T) {
	t.Parallel()
	admin := testkit.Databases(t, 1).Admin(t, "data1")
	decisions := readDecisions(t, filepath.Join(citusFolder, "data.sql"))
	for _, fault := range []struct{ rule, sql string }{
		{"key", `CREATE TABLE faulty (tenant_id uuid NOT NULL, number smallint NOT NULL, name text, PRIMARY KEY (tenant_id, number), UNIQUE (tenant_id, name))`},
		{"key", `CREATE TABLE faulty (tenant_id uuid NOT NULL, number smallint NOT NULL, name text); CREATE UNIQUE INDEX ON faulty (tenant_id, (number::integer), name)`},
		{"key", `CREATE TABLE faulty (tenant_id uuid NOT NULL, name text UNIQUE)`},
		{"foreign key", `CREATE TABLE faulty (tenant_id uuid NOT NULL REFERENCES tenant_gates)`},
		{"foreign key", `CREATE TABLE other (tenant_id uuid, number smallint, account_id uuid, FOREIGN KEY (tenant_id, number, account_id) REFERENCES accounts)`},
		{"foreign key", `CREATE TABLE other (id bigint PRIMARY KEY); CREATE TABLE faulty (tenant_id uuid NOT NULL, number smallint, id bigint REFERENCES other)`},
		{"trigger", `CREATE TRIGGER faulty BEFORE UPDATE ON accounts FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()`},
		{"generated column", `CREATE TABLE faulty (id uuid, tenant_id uuid GENERATED ALWAYS AS (id) STORED NOT NULL)`},
		{"generated column", `CREATE TABLE faulty (tenant_id uuid NOT NULL, id bigint GENERATED ALWAYS AS IDENTITY)`},
		{"sequence", `CREATE TABLE faulty (tenant_id uuid NOT NULL, id bigserial)`},
		{"tenant column", `CREATE TABLE faulty (tenant_id uuid)`},
		{"tenant column", `CREATE TABLE faulty (tenant_id text NOT NULL)`},
		{"function that writes", `CREATE FUNCTION faulty() RETURNS void LANGUAGE sql SECURITY DEFINER AS 'DELETE FROM claims'; ALTER FUNCTION faulty() OWNER TO holdfast_scanner`},
		{"", `CREATE TABLE faulty (tenant_id uuid NOT NULL, number smallint NOT NULL, id uuid, PRIMARY KEY (tenant_id, number, id),
		      FOREIGN KEY (tenant_id, number, id) REFERENCES accounts)`},
		{"", `CREATE TABLE other (id bigserial PRIMARY KEY)`},
	} {
		if _, err := admin.Exec(t.Context(), fault.sql); err != nil {
			t.Fatal(err)
		}
		with := map[string]decision{"faulty": byTenant}
		for table, d := range decisions {
			with[table] = d
		}
		var rules []string
		for _, f := range checkSchema(t, admin, with) {
			rules = append(rules, f.rule)
		}
		if fault.rule == "" && len(rules) > 0 || fault.rule != "" && !slices.Contains(rules, fault.rule) {
			t.Errorf("%s\n  breaks %q, want %q", fault.sql, rules, fault.rule)
		}
		_, err := admin.Exec(t.Context(), `DROP TABLE IF EXISTS faulty, other; DROP TRIGGER IF EXISTS faulty ON accounts; DROP FUNCTION IF EXISTS faulty()`)
		if err != nil {
			t.Fatal(err)
		}
	}
}
