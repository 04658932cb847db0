package record

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// dueRow is a row that has had its time: an identity, of any tenant.
type dueRow struct {
	at         time.Time
	tenant     domain.TenantID
	collection domain.CollectionID
	name       string // an operation, a batch, an item
}

// cleanupPage is what a step of a cleanup deals with.
type cleanupPage struct {
	found []dueRow  // by tenant and collection
	due   time.Time // what is as old as this is due
	busy  bool      // another worker is reading a page; nothing was found
	last  bool      // of its pass
}

const (
	sqlBeginCleanup = `
INSERT INTO record_sweeps (task, number, after_time, after_tenant, after_collection, after_name, passes, visited, recovered)
VALUES ($1, $2, $3, $4, $5, '', 0, 0, 0)
ON CONFLICT DO NOTHING`

	sqlLockCleanup = `
SELECT clock_timestamp(), after_time, after_tenant, after_collection, after_name FROM record_sweeps
 WHERE task = $1 AND number = $2
   FOR UPDATE SKIP LOCKED`

	sqlMoveCleanup = `
UPDATE record_sweeps SET after_time = $3, after_tenant = $4, after_collection = $5, after_name = $6, visited = visited + $7,
       pass_began_at = CASE WHEN $8 THEN $10 ELSE pass_began_at END,
       pass_ended_at = CASE WHEN $9 THEN $10 ELSE pass_ended_at END,
       passes = passes + CASE WHEN $9 THEN 1 ELSE 0 END
 WHERE task = $1 AND number = $2`

	sqlCountRemoved = `UPDATE record_sweeps SET recovered = recovered + $3 WHERE task = $1 AND number = $2`
)

// nextCleanupPage reads what is due behind the cursor and moves it behind that, in
// one transaction. A short page ends the pass, and the next begins anew.
func nextCleanupPage(ctx context.Context, db *postgres.Database, task CleanupTask, work cleanup, number domain.Number, limit int) (p cleanupPage, err error) {
	err = asOperator(ctx, db, func(tx pgx.Tx) error {
		p = cleanupPage{}
		after, now, busy, err := lockCleanup(ctx, tx, task, number)
		if p.busy = busy; err != nil || busy {
			return err
		}
		p.due = now.Add(-work.grace)
		rows, _ := tx.Query(ctx, work.find, int16(number), p.due, after.at, after.tenant, after.collection, after.name, limit)
		p.found, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (d dueRow, err error) {
			err = row.Scan(&d.at, &d.tenant, &d.collection, &d.name)
			return d, err
		})
		if err != nil {
			return err
		}
		var end dueRow
		if p.last = len(p.found) < limit; !p.last {
			end = p.found[limit-1]
		}
		_, err = tx.Exec(ctx, sqlMoveCleanup, task, int16(number), end.at, end.tenant, end.collection, end.name, len(p.found),
			after.tenant.IsZero(), p.last, now)
		return err
	})
	slices.SortStableFunc(p.found, func(a, b dueRow) int {
		return cmp.Or(bytes.Compare(a.tenant[:], b.tenant[:]), bytes.Compare(a.collection[:], b.collection[:]))
	})
	return p, err
}

// lockCleanup makes the cursor's row if it isn't there, and locks and reads it.
func lockCleanup(ctx context.Context, tx pgx.Tx, task CleanupTask, number domain.Number) (after dueRow, now time.Time, busy bool, err error) {
	batch := &pgx.Batch{}
	batch.Queue(sqlBeginCleanup, task, int16(number), after.at, after.tenant, after.collection)
	busy = true
	batch.Queue(sqlLockCleanup, task, int16(number)).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			busy = false
			if err := rows.Scan(&now, &after.at, &after.tenant, &after.collection, &after.name); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	return after, now, busy, tx.SendBatch(ctx, batch).Close()
}

func countRemoved(ctx context.Context, db *postgres.Database, task CleanupTask, number domain.Number, n int) error {
	return asOperator(ctx, db, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sqlCountRemoved, task, int16(number), n)
		return err
	})
}
