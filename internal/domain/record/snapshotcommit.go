package record

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const sqlAddPart = `
INSERT INTO snapshot_parts (tenant_id, number, collection_id, snapshot_id, ordinal, digest, length, lines)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`

// commitPage moves the cursor behind a page, with the part that was made of it. A
// snapshot is complete with the page that has reached the collection's counter.
func (s *Service) commitPage(ctx context.Context, sn *snapshot, page *snapshotPage, part *SnapshotPart) error {
	return s.move(ctx, sn, func(next *snapshot, now time.Time) {
		next.attempts, next.dueAt = 0, now
		if part != nil {
			next.Parts, next.Lines, next.Length = part.Ordinal, sn.Lines+int64(part.Lines), sn.Length+part.Length
		}
		page.advance(&next.snapshotCursor)
		if page.last && !sn.walking {
			next.State, next.EndedAt, next.Sequence = SnapshotComplete, now, page.upTo
		}
	}, func(tx *tenancy.Tx, next *snapshot, now time.Time) {
		if part != nil {
			tx.Queue(sqlAddPart, int16(sn.number), sn.of, sn.ID, part.Ordinal, part.Digest[:], part.Length, part.Lines)
		}
		if next.State == SnapshotComplete {
			retireComplete(tx, next, now)
			retireFailed(tx, next, now)
		}
	})
}

func (p *snapshotPage) advance(c *snapshotCursor) {
	switch n := len(p.found); {
	case c.walking && p.last:
		c.walking, c.afterKey, c.afterSection = false, "", ""
	case c.walking:
		c.afterKey, c.afterSection = p.found[n-1].Key, p.found[n-1].Name
	case n > 0:
		c.afterSequence = p.found[n-1].Sequence
	}
}

// removalDelay is how long the objects of a snapshot that nobody sees any more are
// left: for longer than a URL works that was signed before.
const removalDelay = 2 * PresignLife

// Those that are retired are not seen from then on, and their objects go later.
const (
	sqlRetireComplete = `
UPDATE snapshots s SET state = 'removing', due_at = $5
 WHERE s.tenant_id = $1 AND s.number = $2 AND s.collection_id = $3 AND s.state = 'complete'
   AND s.snapshot_id = ANY (ARRAY(
       SELECT k.snapshot_id FROM snapshots k
        WHERE k.tenant_id = $1 AND k.number = $2 AND k.collection_id = $3 AND k.state = 'complete'
        ORDER BY k.ended_at DESC, k.snapshot_id DESC OFFSET $4))`
	sqlRetireFailed = `
UPDATE snapshots s SET state = 'removing', due_at = $5
 WHERE s.tenant_id = $1 AND s.number = $2 AND s.collection_id = $3 AND s.state IN ('failing', 'failed') AND s.snapshot_id <> $4`
)

// retireComplete retires the complete ones of the collection but for the last two.
func retireComplete(tx *tenancy.Tx, last *snapshot, now time.Time) {
	tx.Queue(sqlRetireComplete, int16(last.number), last.of, snapshotsKept, now.Add(removalDelay))
}

// retireFailed retires the failed ones behind which another has ended.
func retireFailed(tx *tenancy.Tx, last *snapshot, now time.Time) {
	tx.Queue(sqlRetireFailed, int16(last.number), last.of, last.ID, now)
}
