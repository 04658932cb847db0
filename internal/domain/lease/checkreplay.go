package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// maxRejected bounds the principals whose rejections a check follows in one world.
const maxRejected = 1000

// replay is what a journal comes to, as far as it has been read.
type replay struct {
	state        journal.State
	grantedHash  journal.Hash
	expiredEpoch int64 // the last that ended by its expiry
	createdAt    time.Time
	rejected     map[journal.Actor]time.Time // the last of those that are journaled
	rejections   int64
}

// sqlCheckEntryIDs and sqlCheckEpochs find the entries of a page that are not what
// stands under their ids and epochs.
const (
	sqlCheckEntryIDs = `
SELECT p.position FROM unnest($4::text[], $5::bigint[]) AS p (entry_id, position)
  LEFT JOIN LATERAL (SELECT i.position FROM entry_ids i
                      WHERE i.tenant_id = $1 AND i.number = $2 AND i.world_id = $3 AND i.entry_id = p.entry_id LIMIT 1) i ON true
 WHERE i.position IS DISTINCT FROM p.position`

	sqlCheckEpochs = `
SELECT p.position FROM unnest($4::bigint[], $5::bigint[]) AS p (epoch, position)
  LEFT JOIN LATERAL (SELECT e.position FROM lease_epochs e
                      WHERE e.tenant_id = $1 AND e.number = $2 AND e.world_id = $3 AND e.epoch = p.epoch LIMIT 1) e ON true
 WHERE e.position IS DISTINCT FROM p.position`
)

// replay reads the journal through the head's position. What comes behind the first
// entry that is wrong can't be judged.
func (w *inspectedWorld) replay(ctx context.Context) error {
	r := &replay{state: journal.Begin(w.tenant, w.head.ref.id), rejected: map[journal.Actor]time.Time{}}
	defer func() { w.count(Census{Entries: r.state.Position, Rejections: r.rejections}) }()
	for r.state.Position < w.head.Position {
		page, err := w.page(ctx, r.state.Position)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return w.tell(w.violation.of(JournalShort, fmt.Sprintf(
				"The journal has no entry here, and its head ends at position %d: entries are lost. Restore them from a backup or a mirror, "+
					"whose chain hash shows that they are the ones.", w.head.Position)).at(r.state.Position + 1))
		}
		for n := range page {
			if sound, err := w.apply(r, &page[n]); err != nil || !sound {
				return err
			}
		}
		if err := w.lookUps(ctx, page); err != nil {
			return err
		}
	}
	for _, c := range w.checkpoints { // behind all entries
		if err := w.tell(w.violation.of(CheckpointBroken, fmt.Sprintf(
			"A checkpoint was signed of this position, and the journal ends at %d: its last entries are gone, head and all. "+
				"Restore them from a backup or a mirror.", r.state.Position)).at(c.Position)); err != nil {
			return err
		}
	}
	if err := w.strays(ctx); err != nil {
		return err
	}
	return w.compare(r)
}

func (w *inspectedWorld) page(ctx context.Context, after int64) (page []journal.Entry, err error) {
	ref := w.head.ref
	limit := min(checkPage, w.head.Position-after)
	err = w.read(ctx, w.db, func(tx *tenancy.Tx) {
		tx.Queue(sqlReadEntries, int16(ref.number), ref.id, after, limit, MaxPayload).Query(func(rows pgx.Rows) (err error) {
			page, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (journal.Entry, error) { return scanEntry(row) })
			return err
		})
	})
	return page, err
}

// apply replays an entry, and tells whether it may be the next.
func (w *inspectedWorld) apply(r *replay, e *journal.Entry) (sound bool, err error) {
	if broken := r.state.Apply(*e); broken != nil {
		position := r.state.Position + 1
		var fault *journal.Fault
		if errors.As(broken, &fault) {
			position = fault.Position
		}
		return false, w.tell(w.violation.of(JournalBroken, "The journal can't be replayed from here on: "+broken.Error()+
			". Restore the entry from a backup or a mirror, and let nobody write before.").at(position))
	}
	if err := w.note(r, e); err != nil {
		return false, err
	}
	for len(w.checkpoints) > 0 && w.checkpoints[0].Position == e.Position {
		if w.checkpoints[0].Hash != e.Hash {
			if err := w.tell(w.violation.of(CheckpointBroken,
				"The journal had another chain hash here when a checkpoint was signed: it was made anew. Restore it from a backup or a mirror.").at(e.Position)); err != nil {
				return false, err
			}
		}
		w.checkpoints = w.checkpoints[1:]
	}
	return true, nil
}

// note keeps what the state doesn't.
func (w *inspectedWorld) note(r *replay, e *journal.Entry) error {
	if r.state.GrantedPosition == e.Position {
		r.grantedHash = e.Hash
	}
	switch e.Kind {
	case journal.KindWorldCreated:
		r.createdAt = e.At
	case journal.KindLeaseRevoked:
		if e.Actor.IsCoordinator() { // for expiry
			r.expiredEpoch = e.Epoch
		}
	case journal.KindAppendRejected:
		return w.noteRejected(r, e)
	}
	return nil
}

// noteRejected: each rejection of a principal is counted in one entry, and so begins
// the count of an entry not before that of the one in front has ended.
func (w *inspectedWorld) noteRejected(r *replay, e *journal.Entry) error {
	details, err := journal.DetailsOf[journal.Rejected](e)
	if err != nil {
		return err // Apply has read them
	}
	r.rejections += details.Count
	before, known := r.rejected[details.Holder]
	if known || len(r.rejected) < maxRejected {
		r.rejected[details.Holder] = time.Time(details.LastAt)
	}
	if known && time.Time(details.FirstAt).Before(before) {
		return w.tell(w.violation.of(RejectionsTwice,
			"The entry counts rejections of a time that an earlier entry has counted: the count is too high. Tell Holdfast's makers.").at(e.Position))
	}
	return nil
}

// lookUps holds the entries of a page to what leads to them.
func (w *inspectedWorld) lookUps(ctx context.Context, page []journal.Entry) error {
	var ids []string
	var epochs, identified, began []int64 // the last two are positions
	for _, e := range page {
		switch {
		case e.EntryID != "":
			ids, identified = append(ids, e.EntryID), append(identified, e.Position)
		case e.Kind.MakesWriter():
			epochs, began = append(epochs, e.Epoch), append(began, e.Position)
		}
	}
	var wrongIDs, wrongEpochs []int64
	positions := func(into *[]int64) func(pgx.Rows) error {
		return func(rows pgx.Rows) (err error) {
			*into, err = pgx.CollectRows(rows, pgx.RowTo[int64])
			return err
		}
	}
	err := w.read(ctx, w.db, func(tx *tenancy.Tx) {
		number, world := int16(w.head.ref.number), w.head.ref.id
		tx.Queue(sqlCheckEntryIDs, number, world, ids, identified).Query(positions(&wrongIDs))
		tx.Queue(sqlCheckEpochs, number, world, epochs, began).Query(positions(&wrongEpochs))
	})
	if err != nil {
		return err
	}
	for _, position := range wrongIDs {
		if err := w.tell(w.violation.of(EntryIDWrong,
			"This entry's id leads to another entry or to none, so its receipt is wrong and the id may be used twice. Make the row of entry_ids anew from the journal.").at(position)); err != nil {
			return err
		}
	}
	for _, position := range wrongEpochs {
		if err := w.tell(w.violation.of(EpochWrong,
			"The epoch that this entry began leads to another entry or to none, so nobody can prove who had the lease. Make the row of lease_epochs anew from the journal.").at(position)); err != nil {
			return err
		}
	}
	return nil
}
