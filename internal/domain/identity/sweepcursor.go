package identity

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// sweepCursor is where a pass over one family and number stands.
type sweepCursor struct {
	kind   sweepKind
	family domain.Family
	number domain.Number

	deadline time.Time
	tenant   domain.TenantID
	record   domain.RecordID
	token    domain.Token
}

const sqlEnterOperator = `SELECT enter_operator()`

const sqlBeginSweep = `
INSERT INTO sweeps (kind, family, number, after_deadline, after_tenant, after_record, after_token, passes, visited, recovered)
VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, 0)
ON CONFLICT DO NOTHING`

const sqlLockSweep = `
SELECT clock_timestamp(), after_deadline, after_tenant, after_record, after_token FROM sweeps
 WHERE kind = $1 AND family = $2 AND number = $3
   FOR UPDATE SKIP LOCKED`

const sqlOverdueOperations = `SELECT tenant_id, record_id, deadline FROM sweep_operations($1, $2, $3, $4, $5, $6, $7)`

const sqlClaimsPage = `SELECT tenant_id, owner_family, owner_id, token FROM sweep_claims($1, $2, $3, $4, $5, $6)`

const sqlMoveSweep = `
UPDATE sweeps SET after_deadline = $4, after_tenant = $5, after_record = $6, after_token = $7, visited = visited + $8,
       pass_began_at = CASE WHEN $9 THEN $11 ELSE pass_began_at END,
       pass_ended_at = CASE WHEN $10 THEN $11 ELSE pass_ended_at END,
       passes = passes + CASE WHEN $10 THEN 1 ELSE 0 END
 WHERE kind = $1 AND family = $2 AND number = $3`

const sqlCountRecovered = `
UPDATE sweeps SET recovered = recovered + $4 WHERE kind = $1 AND family = $2 AND number = $3`

// nextPage reads the candidates behind the cursor and moves it behind them, in
// one transaction. A short page ends the pass, and the next begins anew.
func nextPage(ctx context.Context, db *postgres.Database, c sweepCursor, limit int) (page []candidate, busy bool, err error) {
	err = pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
		var now time.Time
		if now, busy, err = c.lock(ctx, tx); err != nil || busy {
			return err
		}
		begins := c.record.IsZero()
		if page, err = c.read(ctx, tx, now, limit); err != nil {
			return err
		}
		ends := len(page) < limit
		next := sweepCursor{}
		if !ends {
			last := page[len(page)-1]
			next = sweepCursor{deadline: last.deadline, tenant: last.tenant, record: last.record.ID, token: last.token}
		}
		_, err := tx.Exec(ctx, sqlMoveSweep, c.kind, c.family, int16(c.number),
			next.deadline, next.tenant, next.record, next.token, len(page), begins, ends, now)
		return err
	})
	return page, busy, postgres.Classify(err)
}

// lock makes the cursor's row if it isn't there, and locks and reads it.
func (c *sweepCursor) lock(ctx context.Context, tx pgx.Tx) (now time.Time, busy bool, err error) {
	var zero sweepCursor
	batch := &pgx.Batch{}
	batch.Queue(sqlEnterOperator)
	batch.Queue(sqlBeginSweep, c.kind, c.family, int16(c.number), zero.deadline, zero.tenant, zero.record, zero.token)
	busy = true
	batch.Queue(sqlLockSweep, c.kind, c.family, int16(c.number)).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			busy = false
			if err := rows.Scan(&now, &c.deadline, &c.tenant, &c.record, &c.token); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	return now, busy, tx.SendBatch(ctx, batch).Close()
}

func (c *sweepCursor) read(ctx context.Context, tx pgx.Tx, now time.Time, limit int) ([]candidate, error) {
	if c.kind == sweepOperations {
		rows, _ := tx.Query(ctx, sqlOverdueOperations, int16(c.number), c.family, now, c.deadline, c.tenant, c.record, limit)
		return pgx.CollectRows(rows, func(row pgx.CollectableRow) (found candidate, err error) {
			var id domain.RecordID
			err = row.Scan(&found.tenant, &id, &found.deadline)
			found.record = refTo(c.family, id)
			return found, err
		})
	}
	rows, _ := tx.Query(ctx, sqlClaimsPage, int16(c.number), c.family, c.tenant, c.record, c.token, limit)
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (found candidate, err error) {
		var family domain.Family
		var id domain.RecordID
		err = row.Scan(&found.tenant, &family, &id, &found.token)
		found.record = refTo(family, id)
		return found, err
	})
}

func countRecovered(ctx context.Context, db *postgres.Database, c sweepCursor, n int) error {
	return postgres.Classify(pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(sqlEnterOperator)
		batch.Queue(sqlCountRecovered, c.kind, c.family, int16(c.number), n)
		return tx.SendBatch(ctx, batch).Close()
	}))
}
