package lease

import (
	"crypto/sha256"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

// knownEntry is an entry of the journal that a decision asked for by its id.
type knownEntry struct {
	position, epoch int64
	details         string
	digest          [sha256.Size]byte // of the payload
	hash            journal.Hash
}

func knownOf(e journal.Entry) knownEntry {
	return knownEntry{e.Position, e.Epoch, string(e.Details), e.Digest(), e.Hash}
}

// Each id is looked up by its key, and then its entry by that one's.
const sqlKnownEntries = `
SELECT p.ordinal, p.entry_id, j.position, j.epoch, j.details, sha256(j.payload), j.chain_hash
  FROM unnest($2::smallint[], $3::text[], $4::text[]) WITH ORDINALITY AS p (number, world_id, entry_id, ordinal)
 CROSS JOIN LATERAL (SELECT i.position FROM entry_ids i
                      WHERE i.tenant_id = $1 AND i.number = p.number AND i.world_id = p.world_id AND i.entry_id = p.entry_id LIMIT 1) i
 CROSS JOIN LATERAL (SELECT j.position, j.epoch, j.details, j.payload, j.chain_hash FROM journal j
                      WHERE j.tenant_id = $1 AND j.number = p.number AND j.world_id = p.world_id AND j.position = i.position LIMIT 1) j`

// queueKnown reads, behind the locks, which of the entry ids that the decisions ask
// for are in the journals.
func (f *flush) queueKnown() {
	var asked worldColumns
	var ids []string
	for _, t := range f.worlds {
		for _, d := range t.decisions {
			for _, id := range d.ids {
				asked.add(t)
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return
	}
	f.tx.Queue(sqlKnownEntries, asked.numbers, asked.ids, ids).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var ordinal int64
			var id string
			var k knownEntry
			var digest, hash []byte
			if err := rows.Scan(&ordinal, &id, &k.position, &k.epoch, &k.details, &digest, &hash); err != nil {
				return err
			}
			copy(k.digest[:], digest)
			copy(k.hash[:], hash)
			if w := asked.turns[ordinal-1].locked; w != nil {
				w.known[id] = k
			}
		}
		return rows.Err()
	})
}

// receiptOf gives the receipt of entries that are all in the journal.
func (w *locked) receiptOf(req *Append) (receipt Receipt, known bool, err error) {
	var found []string
	var last knownEntry
	for _, e := range req.Entries {
		k, is := w.known[e.ID]
		if e.ID == "" || !is {
			continue
		}
		if k.details != string(e.details()) || k.digest != sha256.Sum256(e.Payload) {
			return Receipt{}, false, errIDReused.With("entry_id", e.ID)
		}
		found = append(found, e.ID)
		receipt.Positions = append(receipt.Positions, k.position)
		if k.position > last.position {
			last = k
		}
	}
	switch len(found) {
	case 0:
		return Receipt{}, false, nil
	case len(req.Entries):
		receipt.World, receipt.Epoch, receipt.Hash, receipt.Replayed = w.ref.id, last.epoch, last.hash, true
		return receipt, true, nil
	}
	return Receipt{}, false, errPartly.With("known", found)
}

// at points a parser's refusal at the part of the request that it read.
func at(err error, pointer string) error {
	var e *domain.Error
	if errors.As(err, &e) {
		return e.At(pointer)
	}
	return err
}
