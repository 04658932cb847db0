package lease

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// A rejected append is evidence, and stays: it is committed although nothing else
// is. The first of a principal is journaled at once. The next are counted beside
// the head, exactly and durably, and journaled as one entry once the last such
// entry is old enough, by whatever operation comes next or by the sweep.

// rejection is what is counted of one principal at one world.
type rejection struct {
	presented   int64 // the epoch, of the last one
	pending     int64 // counted and not journaled
	firstAt     time.Time
	lastAt      time.Time
	journaledAt time.Time

	changed bool
}

// reject notes an append that the fence refused.
func (w *locked) reject(caller journal.Actor, a *Authority) {
	var presented int64 // 0: as a hosted writer, without a lease
	if a != nil {
		presented = a.Epoch
	}
	r := w.rejections[caller]
	if r == nil {
		r = &rejection{}
		w.rejections[caller] = r
	}
	at := later(w.now, r.lastAt) // what is only counted keeps no clock from being set back
	if r.pending == 0 {
		r.firstAt = at
	}
	r.presented, r.lastAt, r.changed = presented, at, true
	r.pending++
	w.tally.fenced++
	w.rejected, w.changed = true, true
	w.journalRejection(caller, r)
}

// journalRejections journals what is due. It also forgets the principals that no
// longer try.
func (w *locked) journalRejections() {
	for caller, r := range inOrder(w.rejections) {
		w.journalRejection(caller, r)
	}
	if w.rejected && len(w.rejections) > 0 && w.quiet() {
		w.rejected, w.changed = false, true
	}
}

func (w *locked) journalRejection(caller journal.Actor, r *rejection) {
	if r.pending == 0 || w.now.Sub(r.journaledAt) < coalesce {
		return
	}
	w.note(journal.KindAppendRejected, w.Epoch, caller, journal.Rejected{
		Holder: caller, PresentedEpoch: r.presented, CurrentEpoch: w.Epoch,
		Count: r.pending, FirstAt: journal.Time(r.firstAt), LastAt: journal.Time(r.lastAt),
	})
	r.pending, r.journaledAt, r.changed = 0, w.now, true
}

// closeRejections journals all that is counted, due or not, and forgets the
// principals.
func (w *locked) closeRejections() {
	for caller, r := range inOrder(w.rejections) {
		r.journaledAt = time.Time{}
		w.journalRejection(caller, r)
	}
	w.rejected, w.changed = false, true
}

// quiet tells whether nothing is left to count here.
func (w *locked) quiet() bool {
	for _, r := range w.rejections {
		if r.pending > 0 || w.now.Sub(r.journaledAt) < coalesce {
			return false
		}
	}
	return true
}

const sqlReadRejections = `
SELECT p.ordinal, r.actor_issuer, r.actor_subject, r.presented_epoch, r.pending, r.first_at, r.last_at, r.journaled_at
  FROM unnest($2::smallint[], $3::text[]) WITH ORDINALITY AS p (number, world_id, ordinal)
 CROSS JOIN LATERAL (SELECT r.* FROM append_rejections r
                      WHERE r.tenant_id = $1 AND r.number = p.number AND r.world_id = p.world_id OFFSET 0) r`

func scanRejection(row pgx.CollectableRow, ordinal *int64) (caller journal.Actor, r rejection, err error) {
	caller.Type = journal.ActorPrincipal
	err = row.Scan(ordinal, &caller.Issuer, &caller.Subject, &r.presented, &r.pending, &r.firstAt, &r.lastAt, &r.journaledAt)
	r.firstAt, r.lastAt, r.journaledAt = r.firstAt.UTC(), r.lastAt.UTC(), r.journaledAt.UTC()
	return caller, r, err
}

const sqlWriteRejection = `
INSERT INTO append_rejections (tenant_id, number, world_id, actor_issuer, actor_subject,
                               presented_epoch, pending, first_at, last_at, journaled_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT (tenant_id, number, world_id, actor_issuer, actor_subject) DO UPDATE
   SET presented_epoch = excluded.presented_epoch, pending = excluded.pending, first_at = excluded.first_at,
       last_at = excluded.last_at, journaled_at = excluded.journaled_at`

// sqlForgetRejections is for a world whose rejections are all journaled, by the same
// transaction at the latest.
const sqlForgetRejections = `
DELETE FROM append_rejections WHERE tenant_id = $1 AND number = $2 AND world_id = $3`

// queueRejections writes what changed beside the head.
func (w *locked) queueRejections(tx *tenancy.Tx) {
	number, world := int16(w.ref.number), w.ref.id
	if !w.rejected && len(w.rejections) > 0 {
		tx.Queue(sqlForgetRejections, number, world)
		return
	}
	for caller, r := range inOrder(w.rejections) {
		if r.changed {
			tx.Queue(sqlWriteRejection, number, world, caller.Issuer, caller.Subject, r.presented, r.pending, r.firstAt, r.lastAt, r.journaledAt)
		}
	}
}
