package record

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// checkedReceipts is how many receipts are read at once. That of a completion of a
// hundred items is long.
const checkedReceipts = 50

const sqlCheckReceipts = `
SELECT r.operation_id, octet_length(r.fingerprint), r.receipt, c.export_sequence
  FROM (SELECT c.export_sequence FROM collections c WHERE c.tenant_id = $1 AND c.number = $2 AND c.collection = $6 LIMIT 1) c
 CROSS JOIN LATERAL (SELECT r.operation_id, r.fingerprint, r.receipt FROM receipts r
                      WHERE r.tenant_id = $1 AND r.number = $2 AND r.collection_id = $3 AND r.operation_id > $4
                      ORDER BY r.operation_id LIMIT $5) r
 ORDER BY r.operation_id`

const sqlCheckRevisions = `
SELECT r.item_key, r.revision
  FROM unnest($4::text[]) AS p (item_key)
 CROSS JOIN LATERAL (SELECT r.item_key, r.revision FROM records r
                      WHERE r.tenant_id = $1 AND r.number = $2 AND r.collection_id = $3 AND r.item_key = p.item_key LIMIT 1) r`

// checkedReceipt is a receipt as a check reads it.
type checkedReceipt struct {
	operation   string
	fingerprint int32 // its bytes
	text        []byte
	counted     int64 // by the collection, in the export
}

// receipts looks at every receipt.
func (w *inspectedCollection) receipts(ctx context.Context) error {
	for after, more := "", true; more; {
		page, err := w.receiptPage(ctx, after)
		if err != nil {
			return err
		}
		w.count(Census{Receipts: int64(len(page))})
		if err := w.judgeReceipts(ctx, page); err != nil {
			return err
		}
		if more = len(page) == checkedReceipts; more {
			after = page[len(page)-1].operation
		}
	}
	return nil
}

func (w *inspectedCollection) receiptPage(ctx context.Context, after string) (page []checkedReceipt, err error) {
	err = w.look(ctx, func(tx *tenancy.Tx) {
		tx.Queue(sqlCheckReceipts, w.number, w.id, after, checkedReceipts, w.violation.Collection).Query(func(rows pgx.Rows) (err error) {
			page, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (r checkedReceipt, err error) {
				err = row.Scan(&r.operation, &r.fingerprint, &r.text, &r.counted)
				return r, err
			})
			return err
		})
	})
	return page, err
}

// judgeReceipts holds receipts to themselves, and then to their records as those
// are afterwards: revisions only grow.
func (w *inspectedCollection) judgeReceipts(ctx context.Context, page []checkedReceipt) error {
	var made []*Receipt
	for n := range page {
		publication, wrong := page[n].judge()
		if wrong != "" {
			if err := w.tell(w.violation.with(page[n].operation).of(ReceiptWrong, wrong+" Nothing of Holdfast changes a receipt: find out what did. "+
				"Whoever asks for the operation again is told what isn't so.")); err != nil {
				return err
			}
			continue
		}
		if publication != nil && publication.Revision > 0 {
			made = append(made, publication)
		}
	}
	revisions, err := w.revisions(ctx, made)
	if err != nil {
		return err
	}
	for _, r := range made {
		if is := revisions[r.Key]; is < r.Revision {
			if err := w.tell(w.violation.under(r.Key).with(r.OperationID).of(RecordDiffers, fmt.Sprintf(
				"A receipt says that the record came to the revision %d, and it is at %d: it was set back, or is lost. Restore it from a backup.", r.Revision, is))); err != nil {
				return err
			}
		}
	}
	return nil
}

// revisions are those of receipts' records, by key; 0 for one that isn't there.
func (w *inspectedCollection) revisions(ctx context.Context, of []*Receipt) (map[string]int64, error) {
	keys := make([]string, len(of))
	for n, r := range of {
		keys[n] = r.Key
	}
	revisions := map[string]int64{}
	err := w.look(ctx, func(tx *tenancy.Tx) {
		tx.Queue(sqlCheckRevisions, w.number, w.id, keys).Query(func(rows pgx.Rows) error {
			var key string
			var revision int64
			_, err := pgx.ForEachRow(rows, []any{&key, &revision}, func() error {
				revisions[key] = revision
				return nil
			})
			return err
		})
	})
	return revisions, err
}

// judge gives what a publication's receipt says, nil for a completion's; and what is
// wrong with it.
func (r *checkedReceipt) judge() (publication *Receipt, wrong string) {
	var stored Stored
	if err := json.Unmarshal(r.text, &stored); err != nil {
		return nil, "The receipt can't be read."
	}
	switch p, c := stored.Publication, stored.Completion; {
	case r.fingerprint != 32:
		return nil, "The receipt has no fingerprint of 32 bytes."
	case p != nil && c == nil && p.OperationID == r.operation:
		return p, r.judgePublication(p)
	case c != nil && p == nil && c.OperationID == r.operation:
		return nil, r.judgeCompletion(c)
	}
	return nil, "The receipt isn't of this operation."
}

func (r *checkedReceipt) judgePublication(p *Receipt) (wrong string) {
	switch {
	case !validKey(p.Key):
		return "The receipt is of a key that no record has."
	case p.Outcome != Published && p.Outcome != Deduplicated && p.Outcome != Superseded:
		return fmt.Sprintf("The receipt has the outcome %q, which there isn't.", p.Outcome)
	case p.Outcome == Published && p.Revision < 1:
		return fmt.Sprintf("The receipt is of a publication that came to the revision %d.", p.Revision)
	}
	for _, change := range p.Changes {
		if change.Sequence < 1 || change.Sequence > r.counted {
			return fmt.Sprintf("The receipt has a change with the export sequence %d, and its collection has counted to %d.", change.Sequence, r.counted)
		}
	}
	return ""
}

func (r *checkedReceipt) judgeCompletion(c *Completion) (wrong string) {
	for _, item := range c.Items {
		if item.Receipt == nil {
			continue
		}
		if wrong := r.judgePublication(item.Receipt); wrong != "" {
			return wrong
		}
	}
	return ""
}
