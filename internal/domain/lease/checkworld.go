package lease

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const sqlCheckCheckpoints = `
SELECT c.position, c.chain_hash, c.signed_at, c.key_id, c.signature FROM checkpoints c
 WHERE c.tenant_id = $1 AND c.number = $2 AND c.world_id = $3
 ORDER BY c.tenant_id, c.number, c.world_id, c.position`

// What stands beside a head is read with it, as of one moment.
const sqlCheckHead = `
SELECT (SELECT j.position FROM journal j WHERE j.tenant_id = $1 AND j.number = $2 AND j.world_id = $3
         ORDER BY j.tenant_id, j.number, j.world_id, j.position DESC LIMIT 1),
       (SELECT coalesce(sum(r.pending), 0)::bigint FROM append_rejections r WHERE r.tenant_id = $1 AND r.number = $2 AND r.world_id = $3),
       EXISTS (SELECT FROM append_rejections r WHERE r.tenant_id = $1 AND r.number = $2 AND r.world_id = $3),
       EXISTS (SELECT FROM lease_waiters l WHERE l.tenant_id = $1 AND l.number = $2 AND l.world_id = $3),
       ` + headColumns + `
  FROM worlds w WHERE w.tenant_id = $1 AND w.number = $2 AND w.world_id = $3`

// inspectedWorld is a world as it was when the inspection came to it.
type inspectedWorld struct {
	*inspection
	db          *postgres.Database
	violation   Violation // what all of its violations have in common
	head        head
	end         *int64 // position of the last entry that stands there; nil for none
	counted     int64  // rejections
	rejections  bool   // rows of them
	waiters     bool
	checkpoints []journal.Checkpoint // by position; those that replaying has passed are gone
}

// world looks at one world: its head, its journal, and what is beside.
func (i *inspection) world(ctx context.Context, db *postgres.Database, ref worldRef) error {
	w := &inspectedWorld{inspection: i, db: db, violation: Violation{Database: db.Name, Number: ref.number, World: ref.id}}
	w.head.ref = ref
	if err := w.look(ctx); err != nil {
		return err
	}
	census := Census{Worlds: 1, Counted: w.counted, Checkpoints: int64(len(w.checkpoints))}
	if w.head.Retired {
		census.Retired = 1
	}
	i.count(census)
	if err := w.beside(); err != nil {
		return err
	}
	return w.replay(ctx)
}

// look reads the checkpoints ahead of the head, which has come at least as far.
func (w *inspectedWorld) look(ctx context.Context) error {
	ref := w.head.ref
	return w.read(ctx, w.db, func(tx *tenancy.Tx) {
		tx.Queue(sqlCheckCheckpoints, int16(ref.number), ref.id).Query(func(rows pgx.Rows) (err error) {
			w.checkpoints, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c journal.Checkpoint, err error) {
				c.Tenant, c.World = w.tenant, ref.id
				var hash []byte
				err = row.Scan(&c.Position, &hash, &c.At, &c.KeyID, &c.Signature)
				copy(c.Hash[:], hash)
				return c, err
			})
			return err
		})
		tx.Queue(sqlCheckHead, int16(ref.number), ref.id).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				if err := scanHead(rows, &w.head, &w.end, &w.counted, &w.rejections, &w.waiters); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	})
}

// beside looks at what the head must know of.
func (w *inspectedWorld) beside() error {
	if w.rejections && !w.head.rejected {
		if err := w.tell(w.violation.of(RejectionsForgotten,
			"Rejections are counted beside the head, and the head doesn't know: nobody will journal them. Set its column rejected.")); err != nil {
			return err
		}
	}
	if w.waiters && !w.head.awaited {
		if err := w.tell(w.violation.of(LineForgotten,
			"Somebody stands in the world's line, and the head doesn't know: they wait in vain. Set its column awaited.")); err != nil {
			return err
		}
	}
	for _, c := range w.checkpoints {
		if err := w.keys.Verify(c); err != nil {
			if err := w.tell(w.violation.of(CheckpointBroken,
				"A kept checkpoint isn't signed by the key that it names. Nothing of Holdfast changes one: find out what did.").at(c.Position)); err != nil {
				return err
			}
		}
	}
	if w.end != nil && *w.end > w.head.Position {
		return w.tell(w.violation.of(JournalLong, fmt.Sprintf(
			"Entries stand behind the head, which ends at position %d: the head was set back, or they were put there past it. "+
				"Don't let anybody write until it is known which.", w.head.Position)).at(*w.end))
	}
	return nil
}

// compare holds the head to what its journal comes to.
func (w *inspectedWorld) compare(r *replay) error {
	want := r.state
	got := w.head.State
	var differ []string
	for _, of := range []struct {
		name string
		same bool
	}{
		{"position", got.Position == want.Position},
		{"epoch", got.Epoch == want.Epoch},
		{"holder", got.Holder == want.Holder},
		{"term", got.TermSeconds == want.TermSeconds},
		{"expiry", got.ExpiresAt.Equal(want.ExpiresAt)},
		{"activation deadline", got.ActivateBy.Equal(want.ActivateBy)},
		{"activation", got.Activated == want.Activated},
		{"granted position", got.GrantedPosition == want.GrantedPosition},
		{"granted hash", w.head.grantedHash == r.grantedHash},
		{"renewed position", got.RenewedPosition == want.RenewedPosition},
		{"written position", got.WrittenPosition == want.WrittenPosition},
		{"expired epoch", w.head.expiredEpoch == r.expiredEpoch},
		{"chain hash", got.Hash == want.Hash},
		{"last time", got.LastAt.Equal(want.LastAt)},
		{"retirement", got.Retired == want.Retired},
		{"creation", w.head.createdAt.Equal(r.createdAt)},
	} {
		if !of.same {
			differ = append(differ, of.name)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	return w.tell(w.violation.of(HeadDiffers, "The head is not what its journal comes to, in: "+strings.Join(differ, ", ")+
		". The journal is the record: find out what wrote to the head, and write what the journal comes to.").at(want.Position))
}
