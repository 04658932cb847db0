package lease

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// foundWorld is a world that a sweep has found: an identity, of any tenant.
type foundWorld struct {
	tenant domain.TenantID
	world  string
}

// sweepPage is what a step deals with.
type sweepPage struct {
	found   []foundWorld // in the order of tenant and world
	visited int          // to find them
	busy    bool         // another worker is reading a page; nothing was found
	last    bool         // of its pass
}

// finder reads at most limit worlds of a number behind one, as of now: those that
// something is due of, and the last that it has looked at when there may be more.
type finder func(ctx context.Context, tx pgx.Tx, number domain.Number, after foundWorld, now time.Time, limit int) (found []foundWorld, visited int, last foundWorld, err error)

// sqlUnsynced: a cursor that a crash of the database sets back looks at what it has
// seen again, and that is cheap.
const sqlUnsynced = `SET LOCAL synchronous_commit = off`

const sqlBeginSweep = `
INSERT INTO lease_sweeps (task, number, after_tenant, after_world, passes, visited)
VALUES ($1, $2, $3, '', 0, 0)
ON CONFLICT DO NOTHING`

const sqlLockSweep = `
SELECT clock_timestamp(), after_tenant, after_world FROM lease_sweeps
 WHERE task = $1 AND number = $2
   FOR UPDATE SKIP LOCKED`

const sqlMoveSweep = `
UPDATE lease_sweeps SET after_tenant = $3, after_world = $4, visited = visited + $5, visited_at = $8,
       pass_began_at = CASE WHEN $6 THEN $8 ELSE pass_began_at END,
       pass_ended_at = CASE WHEN $7 THEN $8 ELSE pass_ended_at END,
       passes = passes + CASE WHEN $7 THEN 1 ELSE 0 END
 WHERE task = $1 AND number = $2`

// nextPage reads the worlds behind the cursor and moves it behind them, in one
// transaction. A short page ends the pass, and the next begins anew.
func nextPage(ctx context.Context, db *postgres.Database, task Task, number domain.Number, limit int, find finder) (p sweepPage, err error) {
	err = pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
		after, now, busy, err := lockCursor(ctx, tx, task, number)
		if p = (sweepPage{busy: busy}); err != nil || busy {
			return err
		}
		var end foundWorld
		if p.found, p.visited, end, err = find(ctx, tx, number, after, now, limit); err != nil {
			return err
		}
		if p.last = p.visited < limit; p.last {
			end = foundWorld{}
		}
		_, err = tx.Exec(ctx, sqlMoveSweep, task, int16(number), end.tenant, end.world, p.visited, after.tenant.IsZero(), p.last, now)
		return err
	})
	return p, postgres.Classify(err)
}

// lockCursor makes the cursor's row if it isn't there, and locks and reads it.
func lockCursor(ctx context.Context, tx pgx.Tx, task Task, number domain.Number) (after foundWorld, now time.Time, busy bool, err error) {
	batch := &pgx.Batch{}
	batch.Queue(sqlEnterOperator)
	batch.Queue(sqlUnsynced)
	batch.Queue(sqlBeginSweep, task, int16(number), domain.TenantID{})
	busy = true
	batch.Queue(sqlLockSweep, task, int16(number)).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			busy = false
			if err := rows.Scan(&now, &after.tenant, &after.world); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	return after, now, busy, tx.SendBatch(ctx, batch).Close()
}

const (
	sqlWorldsDue    = `SELECT tenant_id, world_id FROM sweep_worlds_due($1, $2, $3, $4, $5, $6)`
	sqlWorldsGrown  = `SELECT tenant_id, world_id, grown FROM sweep_worlds_grown($1, $2, $3, $4)`
	sqlWorldsHeated = `SELECT tenant_id, world_id FROM sweep_worlds_heated($1, $2, $3, $4, $5)`
)

func findDue(ctx context.Context, tx pgx.Tx, number domain.Number, after foundWorld, now time.Time, limit int) ([]foundWorld, int, foundWorld, error) {
	rows, _ := tx.Query(ctx, sqlWorldsDue, int16(number), now, now.Add(-coalesce), after.tenant, after.world, limit)
	return collectFound(rows)
}

func findHeated(ctx context.Context, tx pgx.Tx, number domain.Number, after foundWorld, now time.Time, limit int) ([]foundWorld, int, foundWorld, error) {
	rows, _ := tx.Query(ctx, sqlWorldsHeated, int16(number), now.Add(-heatWindow), after.tenant, after.world, limit)
	return collectFound(rows)
}

// collectFound takes rows of which each is due.
func collectFound(rows pgx.Rows) (found []foundWorld, visited int, last foundWorld, err error) {
	found, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (f foundWorld, err error) {
		err = row.Scan(&f.tenant, &f.world)
		return f, err
	})
	if len(found) > 0 {
		last = found[len(found)-1]
	}
	return found, len(found), last, err
}

func findGrown(ctx context.Context, tx pgx.Tx, number domain.Number, after foundWorld, _ time.Time, limit int) (found []foundWorld, visited int, last foundWorld, err error) {
	rows, _ := tx.Query(ctx, sqlWorldsGrown, int16(number), after.tenant, after.world, limit)
	var grown bool
	_, err = pgx.ForEachRow(rows, []any{&last.tenant, &last.world, &grown}, func() error {
		if visited++; grown {
			found = append(found, last)
		}
		return nil
	})
	return found, visited, last, err
}
