package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// cleanPages bounds a transaction of Clean: so many pages of a table, 8 MB of it.
const cleanPages = 1_000

// Clean removes from a database the rows of numbers that are open elsewhere, and
// then the numbers' gates: what a move has left where they were, or, of a move that
// was called off, where they were to go. The move's publication goes too. It tells each table, behind it, with how
// many rows it has removed.
//
// It goes over each table once, in transactions of bounded size, while the database's
// other numbers are served, and may be repeated whatever a crash has left.
func Clean(ctx context.Context, router *postgres.Router, db *postgres.Database, numbers []domain.Number, tell func(table string, rows int64)) error {
	if err := mayClean(ctx, router, db, numbers); err != nil {
		return err
	}
	if err := setForced(ctx, db, true); err != nil {
		return err
	}
	if err := unpublish(ctx, router, db, numbers); err != nil {
		return err
	}
	tables, err := movingTables(ctx, db)
	if err != nil {
		return err
	}
	for _, table := range tables {
		rows, err := cleanTable(ctx, db, table, numbers)
		if err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
		tell(table, rows)
	}
	return removeGates(ctx, db, numbers)
}

// mayClean refuses to remove what is served, or may be all there is.
func mayClean(ctx context.Context, router *postgres.Router, db *postgres.Database, numbers []domain.Number) error {
	if err := demandStates(ctx, db, numbers, "copy", ""); err != nil {
		return err
	}
	var faults []error
	for _, n := range numbers {
		home := router.Database(n)
		if home == db {
			faults = append(faults, refuse("number %d is placed on %s", n, db.Name))
			continue
		}
		faults = append(faults, demandStates(ctx, home, []domain.Number{n}, "open"))
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	return refuseReplication(ctx, db)
}

const sqlPages = `SELECT pg_relation_size($1::text::regclass) / current_setting('block_size')::bigint`

// cleanTable removes the numbers' rows, page by page. None is added meanwhile: the
// numbers are a copy here.
func cleanTable(ctx context.Context, db *postgres.Database, table string, numbers []domain.Number) (removed int64, err error) {
	var pages int64
	if err := db.Pool.QueryRow(ctx, sqlPages, table).Scan(&pages); err != nil {
		return 0, on(db, err)
	}
	sql := fmt.Sprintf(`DELETE FROM %s WHERE ctid >= $1::text::tid AND ctid < $2::text::tid AND number = ANY ($3)`, table)
	for first := int64(0); first < pages; first += cleanPages {
		err := asOperator(ctx, db, func(tx pgx.Tx) error {
			done, err := tx.Exec(ctx, sql, fmt.Sprintf("(%d,0)", first), fmt.Sprintf("(%d,0)", first+cleanPages), smallints(numbers))
			removed += done.RowsAffected()
			return err
		})
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// sqlPlaces names the tables in which sweeps keep where they are, by number.
const sqlPlaces = `
SELECT c.oid::regclass::text FROM pg_class c JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
 WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname <> 'number_gates'
   AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum = ANY (i.indkey) AND a.attname = 'number')
   AND c.oid NOT IN (SELECT moving_tables())`

const sqlRemoveGates = `DELETE FROM number_gates WHERE number = ANY ($1) AND state = 'copy'`

// removeGates has the database know the numbers no more. Sweeps that come to them
// again begin at the beginning.
func removeGates(ctx context.Context, db *postgres.Database, numbers []domain.Number) error {
	return asOperator(ctx, db, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlPlaces)
		places, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		for _, table := range places {
			if _, err := tx.Exec(ctx, fmt.Sprintf(`DELETE FROM %s WHERE number = ANY ($1)`, table), smallints(numbers)); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, sqlRemoveGates, smallints(numbers))
		return err
	})
}
