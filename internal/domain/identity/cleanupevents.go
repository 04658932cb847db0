package identity

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Old events go in batches, each a transaction, and so many at most of a stream
// before others have their turn.
const (
	eventBatch   = 500
	eventBatches = 10
)

// sqlRemoveEvents removes the oldest events of a stream, up to the first that is
// younger: times may be a little out of their sequence, and no gap may be left
// between two that stay. The newest may go too: its sequence is the counter's, and
// that stays, so that the stream goes on where it was.
const sqlRemoveEvents = `
DELETE FROM events
 WHERE tenant_id = $1 AND number = $2
   AND sequence <= (SELECT max(o.sequence)
                      FROM (SELECT e.sequence, bool_and(e.at <= $3) OVER (ORDER BY e.sequence) AS old
                              FROM (SELECT e.sequence, e.at FROM events e
                                     WHERE e.tenant_id = $1 AND e.number = $2 ORDER BY e.sequence LIMIT $4) e) o
                     WHERE o.old)`

// removeEvents removes a tenant's old events in one number. What a crash or the
// bound leaves is still the oldest of its stream, and met in the next pass.
func (s *Service) removeEvents(ctx context.Context, c *cleaning) (removed int, err error) {
	if old := c.found[0].deadline; old.IsZero() { // a number has one stream of a tenant
		return 0, nil
	}
	for range eventBatches {
		n, err := s.removeEventBatch(ctx, c)
		removed += n
		if err != nil {
			return removed, err
		}
		if err := s.reach(ctx, "cleanup events removed"); err != nil || n < eventBatch {
			return removed, err
		}
	}
	return removed, nil
}

func (s *Service) removeEventBatch(ctx context.Context, c *cleaning) (removed int, err error) {
	number := int16(c.number)
	err = tenancy.Run(ctx, s.router.Database(c.number), s.entry(c.tenant, []int16{number}), func(_ context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlRemoveEvents, number, c.due, eventBatch).Exec(func(tag pgconn.CommandTag) error {
			removed = int(tag.RowsAffected())
			return nil
		})
		return nil
	})
	return removed, err
}
