package record

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// objectCursor is where the count of objects stands in one number: behind a
// collection, or within one.
type objectCursor struct {
	number       domain.Number
	turn         int64
	tenant       domain.TenantID
	collection   domain.CollectionID
	listingSince *time.Time // nil behind the collection
	key          string     // of its last object that was seen
	objects      int64      // of it, so far
	bytes        int64
}

// endListing moves the cursor behind its collection.
func (c *objectCursor) endListing() {
	c.listingSince, c.key, c.objects, c.bytes = nil, "", 0, 0
}

const (
	sqlBeginObjects = `
INSERT INTO object_sweeps (number, turn, after_tenant, after_collection, after_key, objects, bytes, passes, visited, recovered)
VALUES ($1, 0, $2, $3, '', 0, 0, 0, 0, 0)
ON CONFLICT DO NOTHING`

	sqlReadObjects = `
SELECT clock_timestamp(), turn, after_tenant, after_collection, listing_since, after_key, objects, bytes
  FROM object_sweeps WHERE number = $1`

	sqlMoveObjects = `
UPDATE object_sweeps SET turn = turn + 1, after_tenant = $3, after_collection = $4, listing_since = $5, after_key = $6,
       objects = $7, bytes = $8, visited = visited + $9, recovered = recovered + $10, visited_at = $11,
       pass_began_at = CASE WHEN $12 THEN $11 ELSE pass_began_at END,
       pass_ended_at = CASE WHEN $13 THEN $11 ELSE pass_ended_at END,
       passes = passes + CASE WHEN $13 THEN 1 ELSE 0 END
 WHERE number = $1 AND turn = $2`
)

// loadObjectCursor reads the cursor, and makes it if it isn't there.
func loadObjectCursor(ctx context.Context, db *postgres.Database, number domain.Number) (c objectCursor, now time.Time, err error) {
	c.number = number
	err = asOperator(ctx, db, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(sqlBeginObjects, int16(number), domain.TenantID{}, domain.CollectionID{})
		batch.Queue(sqlReadObjects, int16(number)).QueryRow(func(row pgx.Row) error {
			return row.Scan(&now, &c.turn, &c.tenant, &c.collection, &c.listingSince, &c.key, &c.objects, &c.bytes)
		})
		return tx.SendBatch(ctx, batch).Close()
	})
	return c, now, err
}

// move moves the cursor on from where it was, unless another worker has.
func (c *objectCursor) move(ctx context.Context, db *postgres.Database, was *objectCursor, now time.Time, step SweepStep) (moved bool, err error) {
	begins := was.tenant.IsZero()
	err = asOperator(ctx, db, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sqlMoveObjects, int16(c.number), was.turn, c.tenant, c.collection, c.listingSince, c.key, c.objects, c.bytes,
			step.Visited, step.Recovered, now, begins, step.Done)
		moved = tag.RowsAffected() == 1
		return err
	})
	return moved, err
}
