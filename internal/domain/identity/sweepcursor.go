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

// sqlUnsynced: a cursor that a crash of the database sets back looks into what it
// has seen again, and that is cheap.
const sqlUnsynced = `SET LOCAL synchronous_commit = off`

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

// finder reads at most limit candidates behind the cursor, in the cursor's order,
// as of now.
type finder func(ctx context.Context, tx pgx.Tx, c *sweepCursor, now time.Time, limit int) ([]candidate, error)

// nextPage reads the candidates behind the cursor and moves it behind them, in
// one transaction. A short page ends the pass, and the next begins anew.
func nextPage(ctx context.Context, db *postgres.Database, c sweepCursor, limit int, find finder) (p page, err error) {
	err = pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
		if p.at, p.busy, err = c.lock(ctx, tx); err != nil || p.busy {
			return err
		}
		begins := c.tenant.IsZero()
		if p.found, err = find(ctx, tx, &c, p.at, limit); err != nil {
			return err
		}
		p.last = len(p.found) < limit
		next := sweepCursor{}
		if !p.last {
			end := p.found[limit-1]
			next = sweepCursor{deadline: end.deadline, tenant: end.tenant, record: end.record.ID, token: end.token}
		}
		_, err := tx.Exec(ctx, sqlMoveSweep, c.kind, c.family, int16(c.number),
			next.deadline, next.tenant, next.record, next.token, len(p.found), begins, p.last, p.at)
		return err
	})
	return p, postgres.Classify(err)
}

// lock makes the cursor's row if it isn't there, and locks and reads it.
func (c *sweepCursor) lock(ctx context.Context, tx pgx.Tx) (now time.Time, busy bool, err error) {
	var zero sweepCursor
	batch := &pgx.Batch{}
	batch.Queue(sqlEnterOperator)
	batch.Queue(sqlUnsynced)
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

func findOperations(ctx context.Context, tx pgx.Tx, c *sweepCursor, now time.Time, limit int) ([]candidate, error) {
	rows, _ := tx.Query(ctx, sqlOverdueOperations, int16(c.number), c.family, now, c.deadline, c.tenant, c.record, limit)
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (found candidate, err error) {
		var id domain.RecordID
		err = row.Scan(&found.tenant, &id, &found.deadline)
		found.record = refTo(c.family, id)
		return found, err
	})
}

func findClaims(ctx context.Context, tx pgx.Tx, c *sweepCursor, _ time.Time, limit int) ([]candidate, error) {
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
