package record

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const sqlCheckFences = `
SELECT f.fence_key, f.item_key,
       (SELECT true FROM records r
         WHERE r.tenant_id = $1 AND r.number = $2 AND r.collection_id = $3 AND r.item_key = f.item_key LIMIT 1) IS NOT NULL
  FROM fences f
 WHERE f.tenant_id = $1 AND f.number = $2 AND f.collection_id = $3 AND f.fence_key > $4
 ORDER BY f.fence_key LIMIT $5`

// fences looks at every fence: the record that was published under it stays.
func (w *inspectedCollection) fences(ctx context.Context) error {
	var fence, key string
	var stands bool
	count, err := w.walk(ctx, checkPage, func(tx *tenancy.Tx) *pgx.QueuedQuery {
		return tx.Queue(sqlCheckFences, w.number, w.id, fence, checkPage)
	}, func(row pgx.CollectableRow) ([]Violation, error) {
		if err := row.Scan(&fence, &key, &stands); err != nil || stands {
			return nil, err
		}
		return []Violation{w.violation.under(key).with(fence).of(FenceWrong,
			"A publication under this fence made a record that isn't there. Nothing of Holdfast deletes a record: restore it from a backup.")}, nil
	})
	w.count(Census{Fences: count})
	return err
}
