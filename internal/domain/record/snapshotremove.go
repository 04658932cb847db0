package record

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// What one step of a removal deletes.
const (
	removedObjects = 200
	removedParts   = 1000
)

const (
	sqlRemoveParts = `
DELETE FROM snapshot_parts p
 WHERE p.tenant_id = $1 AND p.number = $2 AND p.collection_id = $3 AND p.snapshot_id = $4 AND p.ordinal > $5`
	sqlRemoveSnapshot = `
DELETE FROM snapshots s
 WHERE s.tenant_id = $1 AND s.number = $2 AND s.collection_id = $3 AND s.snapshot_id = $4 AND s.run = $5 AND s.state = 'removing'`
)

// removeSome does a step of the removal of a snapshot that nobody sees, or of one
// that failed: first its objects go, those too that no row knows, and then its
// rows. A crash leaves what is met again.
func (s *Service) removeSome(ctx context.Context, sn *snapshot) error {
	objects, more, err := s.store.List(ctx, sn.prefix(), "", removedObjects)
	if err == nil && len(objects) > 0 {
		keys := make([]string, len(objects))
		for i, o := range objects {
			keys[i] = o.Key
		}
		err = s.store.Delete(ctx, keys...)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		s.log.WarnContext(ctx, "a snapshot's objects can't be removed", "collection_id", sn.of, "snapshot_id", sn.ID, "error", err)
		return s.postpone(ctx, sn)
	case more:
		return s.move(ctx, sn, func(next *snapshot, now time.Time) { next.attempts, next.dueAt = 0, now }, nil)
	}
	left := max(sn.Parts-removedParts, 0)
	return s.move(ctx, sn, func(next *snapshot, now time.Time) {
		next.attempts, next.dueAt, next.Parts = 0, now, left
		if left == 0 && sn.State == snapshotFailing {
			next.State = SnapshotFailed
		}
	}, func(tx *tenancy.Tx, _ *snapshot, _ time.Time) {
		tx.Queue(sqlRemoveParts, int16(sn.number), sn.of, sn.ID, left)
		if left == 0 && sn.State == snapshotRemoving {
			tx.Queue(sqlRemoveSnapshot, int16(sn.number), sn.of, sn.ID, sn.run)
		}
	})
}
