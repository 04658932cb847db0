package record

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Move queues the move of records that are as they were captured, and ready: out of
// SQL into the store, where their bodies are, or back. Nothing that a reader can see
// changes: no revision, sequence, time, producer or receipt. Chunks are sent ahead.
func (r *Reread) Move(ctx context.Context, tx *tenancy.Tx, records []*Captured) error {
	switch {
	case len(records) == 0:
		return nil
	case r.capture.from == FormatStore:
		return r.moveIntoSQL(ctx, tx, records)
	}
	r.moveIntoStore(tx, records)
	return nil
}

// sqlMoveIntoStore makes the rows of sections that have none in the store: one
// that is there already stops the transaction by its key.
const sqlMoveIntoStore = `
INSERT INTO sections_in_store (tenant_id, number, collection_id, item_key, section, live, digest, length, generation,
       producer, export_sequence, updated_at)
SELECT $1, n.* FROM unnest($2::smallint[], $3::uuid[], $4::text[], $5::text[], $6::boolean[], $7::bytea[], $8::bigint[], $9::integer[],
       $10::text[], $11::bigint[], $12::timestamptz[]) n`

// sqlRemoveMoved takes one row away, and no other than the one that was captured.
const sqlRemoveMoved = sqlRemoveInSQL + ` AND s.row_identity = $6 AND s.export_sequence = $7`

// sqlDemandMoved holds that none of the rows is left.
const sqlDemandMoved = `
SELECT demand(count(s.section) = 0)
  FROM unnest($4::text[], $5::text[]) AS n (item_key, section)
  LEFT JOIN LATERAL (SELECT s.section FROM sections_in_sql s
                      WHERE s.tenant_id = $1 AND s.number = $2 AND s.collection_id = $3
                        AND s.item_key = n.item_key AND s.section = n.section LIMIT 1) s ON true`

func (r *Reread) moveIntoStore(tx *tenancy.Tx, records []*Captured) {
	c := &locked{collection: *r.collection}
	number := int16(c.number)
	var into inStoreColumns
	for _, moved := range records {
		t := &tuple{key: moved.Key}
		for i := range moved.Sections {
			s := &moved.Sections[i]
			slot := &slot{Section: s.Section}
			slot.place = place{format: FormatStore}
			into.add(c, t, slot)
			if s.place.chunked {
				tx.Queue(sqlRemoveChunks, number, c.id, t.key, s.Name)
			}
			tx.Queue(sqlRemoveMoved, number, c.id, t.key, s.Name, s.row, s.Sequence)
		}
	}
	tx.Queue(sqlMoveIntoStore, into.numbers, into.ids, into.keys, into.sections, into.live, into.digests, into.lengths, into.generations,
		into.producers, into.sequences, into.updated)
	tx.Queue(sqlDemandMoved, number, c.id, into.keys, into.sections)
}
