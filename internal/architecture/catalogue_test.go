package architecture

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// catalogue is what the rules need to know of a migrated data database.
type catalogue struct {
	tables     map[string]domainTable // those that are distributed by tenant
	volatility map[string]string      // of the functions: "i", "s" or "v", the most of all of a name
}

type domainTable struct {
	columns map[string]bool
	keys    [][]string // the columns of each primary and unique key
}

const sqlColumns = `
SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum)
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
 WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
 GROUP BY c.relname`

const sqlKeys = `
SELECT c.relname, x.relname, x.relname = ANY (SELECT n.conname FROM pg_constraint n WHERE n.conrelid = c.oid AND n.contype = 'x'),
       (SELECT array_agg(coalesce(a.attname::text, '') ORDER BY k.n)
          FROM unnest(i.indkey) WITH ORDINALITY AS k(attnum, n) LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum AND k.attnum > 0
         WHERE k.n <= i.indnkeyatts)
  FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_class x ON x.oid = i.indexrelid
 WHERE c.relnamespace = 'public'::regnamespace AND (i.indisunique OR i.indisexclusion)
 ORDER BY c.relname, x.relname`

const sqlVolatility = `
SELECT proname, max(CASE provolatile WHEN 'i' THEN 'i' WHEN 's' THEN 's' ELSE 'v' END)
  FROM pg_proc WHERE prokind <> 'p' GROUP BY proname`

func readCatalogue(t *testing.T, db *pgxpool.Pool, distributed map[string]decision) catalogue {
	t.Helper()
	c := catalogue{tables: map[string]domainTable{}, volatility: map[string]string{}}
	each(t, db, sqlColumns, func(rows pgx.Rows) error {
		var table string
		var columns []string
		err := rows.Scan(&table, &columns)
		if distributed[table] == byTenant {
			all := map[string]bool{}
			for _, column := range columns {
				all[column] = true
			}
			c.tables[table] = domainTable{columns: all}
		}
		return err
	})
	each(t, db, sqlKeys, func(rows pgx.Rows) error {
		var table, index string
		var exclusion bool
		var columns []string
		err := rows.Scan(&table, &index, &exclusion, &columns)
		if known, ok := c.tables[table]; ok && !exclusion {
			known.keys = append(known.keys, columns)
			c.tables[table] = known
		}
		return err
	})
	each(t, db, sqlVolatility, func(rows pgx.Rows) error {
		var function, volatility string
		err := rows.Scan(&function, &volatility)
		c.volatility[function] = volatility
		return err
	})
	return c
}

func each(t *testing.T, db *pgxpool.Pool, sql string, scan func(pgx.Rows) error) {
	t.Helper()
	rows, err := db.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}
