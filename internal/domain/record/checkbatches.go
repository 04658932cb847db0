package record

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const sqlCheckBatches = `
SELECT b.batch_id, b.generation, c.claim_generation,
       (SELECT true FROM batch_items i
         WHERE i.tenant_id = $1 AND i.number = $2 AND i.collection_id = $3 AND i.batch_id = b.batch_id LIMIT 1) IS NOT NULL
  FROM (SELECT c.claim_generation FROM collections c WHERE c.tenant_id = $1 AND c.number = $2 AND c.collection = $6 LIMIT 1) c
 CROSS JOIN LATERAL (SELECT b.batch_id, b.generation FROM batches b
                      WHERE b.tenant_id = $1 AND b.number = $2 AND b.collection_id = $3 AND b.batch_id > $4
                      ORDER BY b.batch_id LIMIT $5) b
 ORDER BY b.batch_id`

// batches looks at every batch.
func (w *inspectedCollection) batches(ctx context.Context) error {
	var id string
	var generation, counted int64
	var items bool
	count, err := w.walk(ctx, checkPage, func(tx *tenancy.Tx) *pgx.QueuedQuery {
		return tx.Queue(sqlCheckBatches, w.number, w.id, id, checkPage, w.violation.Collection)
	}, func(row pgx.CollectableRow) (wrong []Violation, err error) {
		if err := row.Scan(&id, &generation, &counted, &items); err != nil {
			return nil, err
		}
		v := w.violation.with(id)
		if generation > counted {
			wrong = append(wrong, v.of(CounterBehind, fmt.Sprintf("The batch has the claim generation %d, and its collection has counted to %d. "+
				"Set the collection's column claim_generation to the highest that there is, before anybody claims.", generation, counted)))
		}
		if !items {
			wrong = append(wrong, v.of(BatchWrong, "The batch has no items: no call finds it. Remove it."))
		}
		return wrong, nil
	})
	w.count(Census{Batches: count})
	return err
}

// sqlCheckBatchItems reads items with their batches and the claims of their keys.
// The clock is read behind what it is compared with.
const sqlCheckBatchItems = `
SELECT i.batch_id, i.item_key, i.generation, coalesce(i.outcome, ''), i.expires_at > clock_timestamp(),
       b.batch_id IS NOT NULL, coalesce(b.generation, 0), b.completed_at IS NOT NULL,
       coalesce(h.batch_id = i.batch_id AND h.generation = i.generation, false)
  FROM (SELECT i.* FROM batch_items i
         WHERE i.tenant_id = $1 AND i.number = $2 AND i.collection_id = $3 AND (i.batch_id, i.item_key) > ($4, $5)
         ORDER BY i.batch_id, i.item_key LIMIT $6) i
  LEFT JOIN LATERAL (SELECT b.* FROM batches b
                      WHERE b.tenant_id = $1 AND b.number = $2 AND b.collection_id = $3 AND b.batch_id = i.batch_id LIMIT 1) b ON true
  LEFT JOIN LATERAL (SELECT h.* FROM item_claims h
                      WHERE h.tenant_id = $1 AND h.number = $2 AND h.collection_id = $3 AND h.item_key = i.item_key LIMIT 1) h ON true
 ORDER BY i.batch_id, i.item_key`

// batchItems looks at every item of every batch.
func (w *inspectedCollection) batchItems(ctx context.Context) error {
	var id, key, outcome string
	var generation, batchGeneration int64
	var lasts, batch, completed, claimed bool
	_, err := w.walk(ctx, checkPage, func(tx *tenancy.Tx) *pgx.QueuedQuery {
		return tx.Queue(sqlCheckBatchItems, w.number, w.id, id, key, checkPage)
	}, func(row pgx.CollectableRow) ([]Violation, error) {
		if err := row.Scan(&id, &key, &generation, &outcome, &lasts, &batch, &batchGeneration, &completed, &claimed); err != nil {
			return nil, err
		}
		v := w.violation.under(key).with(id)
		switch {
		case !batch:
			v = v.of(BatchWrong, "The item is of a batch that isn't there. Remove it.")
		case completed && outcome == "":
			v = v.of(BatchWrong, "The batch is completed, and nobody knows what became of this item. Look at the receipt of its completion.")
		case !completed && outcome != "":
			v = v.of(BatchWrong, "The batch isn't completed, and the item has an outcome: "+outcome+". Look whether the batch's completion has a receipt.")
		case generation > batchGeneration:
			v = v.of(BatchWrong, fmt.Sprintf("The item was claimed under the generation %d, and its batch has claimed up to %d. "+
				"Set the batch's column generation to the highest of its items.", generation, batchGeneration))
		case !completed && lasts && !claimed:
			v = v.of(ClaimMissing, "The batch has this item until a time that isn't over, and the claim isn't there, so another could take it. "+
				"Let the batch's owner claim it again.")
		default:
			return nil, nil
		}
		return []Violation{v}, nil
	})
	return err
}

// sqlCheckClaims reads claims with the items that they are of. The clock is read
// behind what it is compared with.
const sqlCheckClaims = `
SELECT h.item_key, h.batch_id, h.generation, h.expires_at, h.expires_at <= clock_timestamp(), c.claim_generation,
       i.item_key IS NOT NULL, coalesce(i.generation, 0), coalesce(i.expires_at, 'epoch'), i.outcome IS NOT NULL
  FROM (SELECT c.claim_generation FROM collections c WHERE c.tenant_id = $1 AND c.number = $2 AND c.collection = $6 LIMIT 1) c
 CROSS JOIN LATERAL (SELECT h.* FROM item_claims h
                      WHERE h.tenant_id = $1 AND h.number = $2 AND h.collection_id = $3 AND h.item_key > $4
                      ORDER BY h.item_key LIMIT $5) h
  LEFT JOIN LATERAL (SELECT i.* FROM batch_items i
                      WHERE i.tenant_id = $1 AND i.number = $2 AND i.collection_id = $3 AND i.batch_id = h.batch_id AND i.item_key = h.item_key LIMIT 1) i ON true
 ORDER BY h.item_key`

// claims looks at every claim: it is of an unfinished item, and just as the item
// says. One whose time is over says nothing any more, until it is taken over or
// removed.
func (w *inspectedCollection) claims(ctx context.Context) error {
	var key, batch string
	var generation, counted, itemGeneration int64
	var expires, itemExpires time.Time
	var over, item, finished bool
	count, err := w.walk(ctx, checkPage, func(tx *tenancy.Tx) *pgx.QueuedQuery {
		return tx.Queue(sqlCheckClaims, w.number, w.id, key, checkPage, w.violation.Collection)
	}, func(row pgx.CollectableRow) (wrong []Violation, err error) {
		if err := row.Scan(&key, &batch, &generation, &expires, &over, &counted, &item, &itemGeneration, &itemExpires, &finished); err != nil {
			return nil, err
		}
		v := w.violation.under(key).with(batch)
		if generation > counted {
			wrong = append(wrong, v.of(CounterBehind, fmt.Sprintf("The claim has the generation %d, and its collection has counted to %d. "+
				"Set the collection's column claim_generation to the highest that there is, before anybody claims.", generation, counted)))
		}
		switch {
		case over:
			return wrong, nil
		case !item:
			v = v.of(ClaimWrong, "The claim is of a batch that hasn't the item, or isn't there. Remove it.")
		case finished:
			v = v.of(ClaimWrong, "The claim is of a batch's item that is finished. Remove it.")
		case generation != itemGeneration:
			v = v.of(ClaimWrong, fmt.Sprintf("The claim has the generation %d, and the batch's item has %d, so the batch can't use it. Remove it.", generation, itemGeneration))
		case !expires.Equal(itemExpires):
			v = v.of(ClaimWrong, "The claim and the batch's item end at different times. Remove the claim, and let the batch's owner claim the item again.")
		default:
			return wrong, nil
		}
		return append(wrong, v), nil
	})
	w.count(Census{Claims: count})
	return err
}
