package migration

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// sqlAccept makes a collection's checkpoint, over that of a plan that is closed.
const sqlAccept = `
INSERT INTO migration_checkpoints AS m (tenant_id, number, collection_id, collection, migration_id, kind, plan_hash, build, token, held, held_at,
       frontier, after_row, after_key, sweep, sweep_moved, passes, inspected, moved, bodies, bytes, uploads, reuses, raced, retries,
       activated_at, moved_at, drained_at, closed_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, false, $12, $10, 0, '', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, $11, $11, NULL, NULL)
ON CONFLICT (tenant_id, number, collection_id) DO UPDATE
   SET collection = excluded.collection, migration_id = excluded.migration_id, kind = excluded.kind, plan_hash = excluded.plan_hash,
       build = excluded.build, token = excluded.token, held = false, held_at = excluded.held_at, frontier = excluded.frontier, after_row = 0, after_key = '',
       sweep = 1, sweep_moved = 0, passes = 0, inspected = 0, moved = 0, bodies = 0, bytes = 0, uploads = 0, reuses = 0, raced = 0,
       retries = 0, activated_at = excluded.activated_at, moved_at = excluded.moved_at, drained_at = NULL, closed_at = NULL
 WHERE m.closed_at IS NOT NULL`

var errOtherPlan = domain.Conflict("plan_differs",
	"A collection has accepted another plan, which isn't closed. A collection goes by one plan at a time.")

// accept has a collection accept a plan: in one transaction its format is
// switched, and its frontier taken. A writer of the former format that holds a
// transaction across this has committed before, and is inside the frontier, or
// waits for the lock and then sees the new format. A collection that has accepted
// the plan before stays as it is.
func (s *Service) accept(ctx context.Context, m *Migration, c record.Collection) error {
	to := m.Kind.direction().to
	number := record.NumberOf(c.Name)
	return tenancy.Run(ctx, s.router.Database(number), s.entry(m.Tenant, number), func(ctx context.Context, tx *tenancy.Tx) error {
		var stands Checkpoint
		var now time.Time
		locked := s.records.Lock(tx, m.Tenant, c.Name, c.ID)
		queueCheckpoint(tx, sqlLockCheckpoint, number, c.ID, &stands)
		tx.QueueNow(&now)
		if err := tx.Send(ctx); err != nil {
			return err
		}
		switch {
		case locked.Format() == 0:
			return errNoCheckpoint
		case stands.Migration == m.ID && stands.PlanHash == m.PlanHash:
			return nil
		case stands.Migration == m.ID && slices.Contains(m.Former, stands.PlanHash):
			if stands.DrainedAt.IsZero() { // else it keeps the plan that it was drained by
				queueCarry(tx, &stands, m, s.build)
			}
			return nil
		case !stands.Migration.IsZero() && stands.ClosedAt.IsZero():
			return errOtherPlan
		}
		frontier := locked.Frontier()
		if locked.Format() != to {
			locked.Switch(tx, to)
		}
		token := domain.RandomID[domain.TokenKind]()
		tx.Queue(sqlAccept, int16(number), c.ID, c.Name, m.ID, m.Kind, m.PlanHash[:], s.build, token, frontier, now, m.Revision)
		tx.Queue(sqlDemandCheckpoint, int16(number), c.ID, token)
		return nil
	})
}

// sqlCarry carries a checkpoint over to the plan that follows its own.
const sqlCarry = `
UPDATE migration_checkpoints m SET plan_hash = $4, build = $5, token = $6
 WHERE m.tenant_id = $1 AND m.number = $2 AND m.collection_id = $3 AND m.token = $7 AND m.migration_id = $8 AND m.drained_at IS NULL`

// queueCarry is for a collection that accepted a former plan behind the change of
// the build: by an activation of that build, which was slow.
func queueCarry(tx *tenancy.Tx, stands *Checkpoint, m *Migration, build string) {
	token := domain.RandomID[domain.TokenKind]()
	tx.Queue(sqlCarry, int16(stands.number), stands.CollectionID, m.PlanHash[:], build, token, stands.token, m.ID)
	tx.Queue(sqlDemandCheckpoint, int16(stands.number), stands.CollectionID, token)
}
