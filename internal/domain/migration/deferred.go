package migration

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Deferred is a section that could not be moved, since it isn't what its row
// says. It stops the migration for review, and stays in sight until a retry moves
// it, or the section is published anew.
type Deferred struct {
	ID         DeferredID
	Collection string
	Key        string
	Section    string
	Reason     string // of record.Defect
	Attempts   int
	Retry      bool // the next sweep tries again
	FirstAt    time.Time
	LastAt     time.Time
	NextStep   string // that is safe
}

// DeferredID names a deferred section to callers, who have nothing to read in it.
type DeferredID string

const sqlDefer = `
INSERT INTO migration_deferred AS d (tenant_id, number, collection_id, item_key, section, reason, attempts, retry, first_at, last_at)
VALUES ($1, $2, $3, $4, $5, $6, 1, false, $7, $7)
ON CONFLICT (tenant_id, number, collection_id, item_key, section) DO UPDATE
   SET reason = excluded.reason, attempts = d.attempts + 1, retry = false, last_at = excluded.last_at`

func queueDefects(tx *tenancy.Tx, at *Checkpoint, defects []record.Defect, now time.Time) {
	for _, d := range defects {
		tx.Queue(sqlDefer, int16(at.number), at.CollectionID, d.Key, d.Section, d.Reason, now)
	}
}

// sqlLeftOut are the keys that passes pass over: until a retry is asked for.
const sqlLeftOut = `
SELECT d.item_key FROM migration_deferred d
 WHERE d.tenant_id = $1 AND d.number = $2 AND d.collection_id = $3
 GROUP BY d.item_key HAVING NOT bool_or(d.retry)`

// sqlForgetResolved removes what is no longer so: the section has no row in SQL
// any more, since it was moved or published anew.
const sqlForgetResolved = `
DELETE FROM migration_deferred d
 WHERE d.tenant_id = $1 AND d.number = $2 AND d.collection_id = $3
   AND NOT EXISTS (SELECT FROM sections_in_sql s
                    WHERE s.tenant_id = d.tenant_id AND s.number = d.number AND s.collection_id = d.collection_id
                      AND s.item_key = d.item_key AND s.section = d.section)`

func queueLeftOut(tx *tenancy.Tx, number domain.Number, id domain.CollectionID, into *map[string]bool) {
	tx.Queue(sqlLeftOut, int16(number), id).Query(func(rows pgx.Rows) error {
		all := map[string]bool{}
		var key string
		_, err := pgx.ForEachRow(rows, []any{&key}, func() error { all[key] = true; return nil })
		*into = all
		return err
	})
}
