package lease

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// A stray is a row by which an entry would be found, that leads to one that isn't
// it. An append with a stray id is answered with the receipt of something else.
const (
	sqlCheckStrayIDs = `
SELECT i.entry_id, i.position,
       EXISTS (SELECT FROM journal j WHERE j.tenant_id = $1 AND j.number = $2 AND j.world_id = $3 AND j.position = i.position AND j.entry_id = i.entry_id)
  FROM entry_ids i
 WHERE i.tenant_id = $1 AND i.number = $2 AND i.world_id = $3 AND i.entry_id > $4
 ORDER BY i.tenant_id, i.number, i.world_id, i.entry_id LIMIT $5`

	sqlCheckStrayEpochs = `
SELECT e.epoch, e.position,
       EXISTS (SELECT FROM journal j WHERE j.tenant_id = $1 AND j.number = $2 AND j.world_id = $3 AND j.position = e.position AND j.epoch = e.epoch)
  FROM lease_epochs e
 WHERE e.tenant_id = $1 AND e.number = $2 AND e.world_id = $3 AND e.epoch > $4
 ORDER BY e.tenant_id, e.number, e.world_id, e.epoch LIMIT $5`
)

// strays looks for such rows.
func (w *inspectedWorld) strays(ctx context.Context) error {
	if err := walkLeads(ctx, w, sqlCheckStrayIDs, "", w.violation.of(EntryIDWrong,
		"An entry id leads to this entry, which has another or none, so an append with that id is answered wrongly. Make the row of entry_ids anew from the journal.")); err != nil {
		return err
	}
	return walkLeads(ctx, w, sqlCheckStrayEpochs, int64(0), w.violation.of(EpochWrong,
		"An epoch leads to this entry, which is of another, so nobody can prove who had the lease. Make the row of lease_epochs anew from the journal."))
}

// walkLeads reads what leads to a world's entries, page by page behind a key, and
// tells of each that leads elsewhere.
func walkLeads[K any](ctx context.Context, w *inspectedWorld, sql string, after K, wrong Violation) error {
	for read := checkPage; read == checkPage; {
		var strays []int64 // positions
		read = 0
		err := w.read(ctx, w.db, func(tx *tenancy.Tx) {
			tx.Queue(sql, int16(w.head.ref.number), w.head.ref.id, after, checkPage).Query(func(rows pgx.Rows) error {
				var position int64
				var leads bool
				_, err := pgx.ForEachRow(rows, []any{&after, &position, &leads}, func() error {
					if read++; !leads {
						strays = append(strays, position)
					}
					return nil
				})
				return err
			})
		})
		if err != nil {
			return err
		}
		for _, position := range strays {
			if err := w.tell(wrong.at(position)); err != nil {
				return err
			}
		}
	}
	return nil
}
