package record

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// CleanupTask is one kind of what has had its time. Each looks through one number
// for what has been due longest, of all tenants, behind a cursor.
type CleanupTask string

const (
	CleanReceipts CleanupTask = "receipts" // older than ReceiptLife
	CleanBatches  CleanupTask = "batches"  // and their items: touched that long ago, and so completed or expired
	CleanClaims   CleanupTask = "claims"   // of items, whose time has been over for that long
)

// CleanupTasks are all of them.
func CleanupTasks() []CleanupTask { return []CleanupTask{CleanReceipts, CleanBatches, CleanClaims} }

// Batches and claims are kept for as long as receipts are after their time: by then
// nobody asks any more what became of them. No claim lasts for as long as that, so
// a batch that was touched that long ago has none.
const (
	batchRetention = ReceiptLife
	claimRetention = ReceiptLife
)

const (
	sqlOldReceipts = `SELECT due_at, tenant_id, collection_id, name FROM upkeep_receipts($1, $2, $3, $4, $5, $6, $7)`
	sqlOldBatches  = `SELECT due_at, tenant_id, collection_id, name FROM upkeep_batches($1, $2, $3, $4, $5, $6, $7)`
	sqlOldClaims   = `SELECT due_at, tenant_id, collection_id, name FROM upkeep_claims($1, $2, $3, $4, $5, $6, $7)`
)

// cleanup is how a task does its work.
type cleanup struct {
	find   string        // the statement that reads a page
	grace  time.Duration // how long behind a row's time it is due
	remove []string      // statements that delete what is due still; the last one deletes what is counted
	decide bool          // whether decisions rest on it
}

func (t CleanupTask) cleanup() (c cleanup, ok bool) {
	switch t {
	case CleanReceipts:
		return cleanup{sqlOldReceipts, ReceiptLife, []string{sqlRemoveReceipts}, false}, true
	case CleanBatches:
		return cleanup{sqlOldBatches, batchRetention, []string{sqlRemoveBatchItems, sqlRemoveBatches}, true}, true
	case CleanClaims:
		return cleanup{sqlOldClaims, claimRetention, []string{sqlRemoveOldClaims}, true}, true
	}
	return cleanup{}, false
}

// They find the rows by their keys first, each by a search of its own.
const (
	sqlRemoveReceipts = `
DELETE FROM receipts r
 WHERE r.tenant_id = $1 AND r.ctid = ANY (ARRAY(
       SELECT r.ctid FROM unnest($4::text[]) AS n (name)
        CROSS JOIN LATERAL (SELECT r.ctid FROM receipts r
                             WHERE r.tenant_id = $1 AND r.number = $2 AND r.collection_id = $3
                               AND r.operation_id = n.name AND r.created_at <= $5 LIMIT 1) r))`
	sqlRemoveBatchItems = `
DELETE FROM batch_items i
 WHERE i.tenant_id = $1 AND i.ctid = ANY (ARRAY(
       SELECT i.ctid FROM unnest($4::text[]) AS n (name)
        CROSS JOIN LATERAL (SELECT b.batch_id FROM batches b
                             WHERE b.tenant_id = $1 AND b.number = $2 AND b.collection_id = $3
                               AND b.batch_id = n.name AND b.touched_at <= $5 LIMIT 1) b
        CROSS JOIN LATERAL (SELECT i.ctid FROM batch_items i
                             WHERE i.tenant_id = $1 AND i.number = $2 AND i.collection_id = $3
                               AND i.batch_id = b.batch_id OFFSET 0) i))`
	sqlRemoveBatches = `
DELETE FROM batches b
 WHERE b.tenant_id = $1 AND b.ctid = ANY (ARRAY(
       SELECT b.ctid FROM unnest($4::text[]) AS n (name)
        CROSS JOIN LATERAL (SELECT b.ctid FROM batches b
                             WHERE b.tenant_id = $1 AND b.number = $2 AND b.collection_id = $3
                               AND b.batch_id = n.name AND b.touched_at <= $5 LIMIT 1) b))`
	sqlRemoveOldClaims = `
DELETE FROM item_claims i
 WHERE i.tenant_id = $1 AND i.ctid = ANY (ARRAY(
       SELECT i.ctid FROM unnest($4::text[]) AS n (name)
        CROSS JOIN LATERAL (SELECT i.ctid FROM item_claims i
                             WHERE i.tenant_id = $1 AND i.number = $2 AND i.collection_id = $3
                               AND i.item_key = n.name AND i.expires_at <= $5 LIMIT 1) i))`
)

// sqlDrawToken locks the collection's row, and has whoever decided on what is
// deleted here find another token.
const sqlDrawToken = `
UPDATE collections c SET token = $4
 WHERE c.number::integer = $2::smallint::integer AND c.tenant_id = $1 AND c.collection_id = $3`

// Cleanup does one bounded step of a task in one number: it reads a page of what is
// due, and deletes it. Recovered counts what went. It is due by the clock of the
// number's database.
//
// Any number of steps may run at once, and be killed anywhere: what a step deletes
// it deletes if it is due still, and what it leaves is met again. The generations
// of claims come from the collection, and outlive all of them. A tenant that is
// suspended is left as it is.
//
// Errors: unavailable.
func (s *Service) Cleanup(ctx context.Context, database string, task CleanupTask, number domain.Number, limit int) (SweepStep, error) {
	work, ok := task.cleanup()
	if !ok {
		return SweepStep{}, fmt.Errorf("no cleanup task %q", task)
	}
	db, err := s.database(database)
	if err != nil {
		return SweepStep{}, err
	}
	p, err := nextCleanupPage(ctx, db, task, work, number, limit)
	if err != nil || p.busy {
		return SweepStep{Busy: p.busy}, err
	}
	step := SweepStep{Visited: len(p.found), Done: p.last}
	for found := p.found; len(found) > 0 && ctx.Err() == nil; {
		n := sameCollection(found)
		removed, e := s.removeDue(ctx, number, work, p.due, found[:n])
		step.Recovered += removed
		if domain.KindOf(e) != domain.KindForbidden {
			err = errors.Join(err, e)
		}
		found = found[n:]
	}
	if step.Recovered > 0 {
		err = errors.Join(err, countRemoved(ctx, db, task, number, step.Recovered))
	}
	return step, errors.Join(err, ctx.Err())
}

// sameCollection is how many at the beginning are of one collection.
func sameCollection(found []dueRow) int {
	for i, row := range found {
		if row.tenant != found[0].tenant || row.collection != found[0].collection {
			return i
		}
	}
	return len(found)
}

// removeDue deletes rows of one collection that are due still.
func (s *Service) removeDue(ctx context.Context, number domain.Number, work cleanup, due time.Time, found []dueRow) (removed int, err error) {
	names := make([]string, len(found))
	for i, row := range found {
		names[i] = row.name
	}
	e := s.entry(found[0].tenant, number)
	e.Unsynced = true // a crash leaves them to the next pass
	err = tenancy.Run(ctx, s.router.Database(number), e, func(ctx context.Context, tx *tenancy.Tx) error {
		removed = 0
		if work.decide {
			tx.Queue(sqlDrawToken, int16(number), found[0].collection, domain.RandomID[domain.TokenKind]())
		}
		for _, sql := range work.remove {
			tx.Queue(sql, int16(number), found[0].collection, names, due).Exec(func(tag pgconn.CommandTag) error {
				removed = int(tag.RowsAffected())
				return nil
			})
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}
