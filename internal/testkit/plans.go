package testkit

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// GenericPlan explains a statement as it is planned before its arguments are known,
// which is how a connection keeps it for as long as it lives.
func GenericPlan(t testing.TB, pool *pgxpool.Pool, sql string) string {
	t.Helper()
	var plan []string
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		described, err := tx.Conn().Prepare(t.Context(), "", sql)
		if err != nil {
			return err
		}
		plan, err = explainPrepared(t, tx, "PREPARE planned AS "+sql, len(described.ParamOIDs))
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return strings.Join(plan, "\n")
}

// FunctionPlan explains likewise the statement of which an SQL function consists.
func FunctionPlan(t testing.TB, pool *pgxpool.Pool, function string) string {
	t.Helper()
	var body, types string
	var names []string
	err := pool.QueryRow(t.Context(), `
SELECT pg_get_function_sqlbody(oid), proargnames[:pronargs], array_to_string(proargtypes::regtype[], ', ') FROM pg_proc WHERE proname = $1`,
		function).Scan(&body, &names, &types)
	if err != nil {
		t.Fatalf("%s: %v", function, err)
	}
	statement := strings.TrimSuffix(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(strings.TrimPrefix(body, "BEGIN ATOMIC")), "END")), ";")
	for i, name := range names {
		statement = regexp.MustCompile(`\b(`+function+`\.)?`+name+`\b`).ReplaceAllString(statement, fmt.Sprintf("$$%d", i+1))
	}
	if types != "" {
		types = " (" + types + ")"
	}
	var plan []string
	err = pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) (err error) {
		plan, err = explainPrepared(t, tx, "PREPARE planned"+types+" AS "+statement, len(names))
		return err
	})
	if err != nil {
		t.Fatalf("%s: %s: %v", function, statement, err)
	}
	return strings.Join(plan, "\n")
}

func explainPrepared(t testing.TB, tx pgx.Tx, prepare string, arguments int) (plan []string, err error) {
	for _, s := range []string{"SET LOCAL plan_cache_mode = force_generic_plan", prepare} {
		if _, err := tx.Exec(t.Context(), s); err != nil {
			return nil, err
		}
	}
	execute := "EXPLAIN EXECUTE planned"
	if arguments > 0 {
		execute += " (" + strings.TrimSuffix(strings.Repeat("NULL, ", arguments), ", ") + ")"
	}
	rows, _ := tx.Query(t.Context(), execute, pgx.QueryExecModeSimpleProtocol)
	if plan, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		return nil, err
	}
	_, err = tx.Exec(t.Context(), "DEALLOCATE planned")
	return plan, err
}

// OnIndex tells that a plan has the column among an index's conditions (with >
// where it goes on behind a place, with <= where it goes up to one), and reads no
// table from end to end.
func OnIndex(plan, column string) bool {
	condition := regexp.MustCompile(`Index Cond: .*[ ("]` + column + `"? (=|>|<=) `)
	return condition.MatchString(plan) && !strings.Contains(plan, "Seq Scan")
}
