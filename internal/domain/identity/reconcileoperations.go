package identity

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// standingOperation is an operation's row.
type standingOperation struct {
	operation
	stands domain.Number
}

func (o standingOperation) place() []any {
	return []any{int16(o.stands), o.record.Family, o.record.ID}
}

const sqlReconcileOperations = `
SELECT o.number, o.family, o.record_id, o.token, o.state, o.new_links, o.old_links, o.traceparent
  FROM operations o
 WHERE o.tenant_id = $1 AND o.number BETWEEN $4 AND $2 AND (o.number, o.family, o.record_id) > ($4, $5, $6)
 ORDER BY o.number, o.family, o.record_id
 LIMIT $3`

// operations finishes those that touch a restored number. One that is prepared is
// aborted, also before its deadline: its claims, or the record that they are for,
// may be among what was lost. Its caller's commit then finds it aborted.
func (c *reconciliation) operations(ctx context.Context, r *inspectedRun) error {
	scan := func(row pgx.CollectableRow) (o standingOperation, err error) {
		var family domain.Family
		var id domain.RecordID
		err = row.Scan(&o.stands, &family, &id, &o.token, &o.state, &o.newLinks, &o.oldLinks, &o.traceparent)
		o.record = refTo(family, id)
		return o, err
	}
	return walk(ctx, r, sqlReconcileOperations, []any{"", domain.RecordID{}}, scan, func(ctx context.Context, page []standingOperation, _ time.Time) error {
		for _, o := range page {
			touched := func(l link) bool { return c.touches(o.record, l) }
			if !c.Restored.Has(o.record.Number) && !slices.ContainsFunc(o.newLinks, touched) && !slices.ContainsFunc(o.oldLinks, touched) {
				continue
			}
			if err := c.s.help(ctx, c.Tenant, &o.operation); err != nil {
				return err
			}
			c.done.Operations++
		}
		return nil
	})
}
