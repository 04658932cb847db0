package fleet

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

const sqlForcedOtherwise = `
SELECT t::text FROM moving_tables() t JOIN pg_class c ON c.oid = t WHERE c.relforcerowsecurity <> $1`

// forceWait bounds the wait for a table. Whoever reads or writes it comes behind.
const forceWait = `SET LOCAL lock_timeout = '2s'`

// setForced forces row-level security on the owner of the tables whose rows move, or
// lets the owner off it. Replication writes as the owner, or (before PostgreSQL 16)
// as the superuser who subscribed, and into no table where security holds for it.
// It makes no difference to the roles that serve, which own nothing.
//
// Each table is one transaction: a crash leaves the rest to whoever repeats it.
func setForced(ctx context.Context, db *postgres.Database, forced bool) error {
	rows, _ := db.Pool.Query(ctx, sqlForcedOtherwise, forced)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return on(db, err)
	}
	change := "NO FORCE"
	if forced {
		change = "FORCE"
	}
	for _, table := range tables {
		err := pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, forceWait); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, fmt.Sprintf("ALTER TABLE %s %s ROW LEVEL SECURITY", table, change))
			return err
		})
		if err != nil {
			return on(db, fmt.Errorf("%s: %w", table, err))
		}
	}
	return nil
}
