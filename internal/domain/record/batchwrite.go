package record

import (
	"time"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const sqlWriteBatch = `
INSERT INTO batches AS b (tenant_id, number, collection_id, batch_id, owner, principal_id, generation, term_seconds, created_at, touched_at, completed_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (tenant_id, number, collection_id, batch_id) DO UPDATE
   SET generation = excluded.generation, term_seconds = excluded.term_seconds, touched_at = excluded.touched_at, completed_at = excluded.completed_at
 WHERE b.completed_at IS NULL AND b.generation <= excluded.generation`

const sqlWriteBatchItem = `
INSERT INTO batch_items AS i (tenant_id, number, collection_id, batch_id, item_key, generation, expires_at, outcome)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (tenant_id, number, collection_id, batch_id, item_key) DO UPDATE
   SET generation = excluded.generation, expires_at = excluded.expires_at, outcome = excluded.outcome
 WHERE i.outcome IS NULL AND i.generation <= excluded.generation`

// sqlWriteClaim gives an item to a batch, or lets its claim last longer.
const sqlWriteClaim = `
INSERT INTO item_claims AS i (tenant_id, number, collection_id, item_key, batch_id, generation, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (tenant_id, number, collection_id, item_key) DO UPDATE
   SET batch_id = excluded.batch_id, generation = excluded.generation, expires_at = excluded.expires_at
 WHERE i.generation < excluded.generation OR (i.generation = excluded.generation AND i.expires_at <= excluded.expires_at)`

const sqlRemoveClaim = `
DELETE FROM item_claims i
 WHERE i.tenant_id = $1 AND i.number = $2 AND i.collection_id = $3 AND i.item_key = $4 AND i.generation = $5`

func (c *locked) queueBatches(tx *tenancy.Tx) {
	number := int16(c.number)
	for key, i := range c.claims {
		switch {
		case i.removed:
			tx.Queue(sqlRemoveClaim, number, c.id, key, i.generation)
		case i.changed:
			tx.Queue(sqlWriteClaim, number, c.id, key, i.batch, i.generation, i.expiresAt)
		}
	}
	for id, b := range c.batches {
		if !b.changed {
			continue
		}
		var completedAt *time.Time
		if !b.completedAt.IsZero() {
			completedAt = &b.completedAt
		}
		tx.Queue(sqlWriteBatch, number, c.id, id, b.owner, b.principal, b.generation, b.termSeconds, b.createdAt, b.touchedAt, completedAt)
		for key, i := range b.items {
			if i.changed {
				var outcome *string
				if i.outcome != "" {
					text := string(i.outcome)
					outcome = &text
				}
				tx.Queue(sqlWriteBatchItem, number, c.id, id, key, i.generation, i.expiresAt, outcome)
			}
		}
	}
}
