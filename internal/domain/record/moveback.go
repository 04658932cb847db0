package record

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// sqlMoveIntoSQL makes the rows of sections that have none in SQL: one that is
// there already stops the transaction by its key.
const sqlMoveIntoSQL = `
INSERT INTO sections_in_sql (tenant_id, number, collection_id, item_key, section, row_identity, live, digest, length,
       content, chunks, producer, export_sequence, updated_at)
SELECT $1, n.* FROM unnest($2::smallint[], $3::uuid[], $4::text[], $5::text[], $6::bigint[], $7::boolean[], $8::bytea[], $9::bigint[],
       $10::bytea[], $11::integer[], $12::text[], $13::bigint[], $14::timestamptz[]) n`

// sqlTakeRows takes a collection on from where it was locked, behind the row
// identities that a move has used; sqlDemandMove stops the transaction if it didn't.
const sqlTakeRows = `
UPDATE collections c SET row_identity = $4, token = $5
 WHERE c.tenant_id = $1 AND c.number = $2 AND c.collection = $3
   AND c.record_format = $6 AND c.token = $7 AND c.row_identity < $4`

// sqlDemandMovedBack holds that none of the rows is left.
const sqlDemandMovedBack = `
SELECT demand(count(s.section) = 0)
  FROM unnest($4::text[], $5::text[]) AS n (item_key, section)
  LEFT JOIN LATERAL (SELECT s.section FROM sections_in_store s
                      WHERE s.tenant_id = $1 AND s.number = $2 AND s.collection_id = $3
                        AND s.item_key = n.item_key AND s.section = n.section LIMIT 1) s ON true`

// moveIntoSQL gives each section a row identity of its own, behind all that there
// are.
func (r *Reread) moveIntoSQL(ctx context.Context, tx *tenancy.Tx, records []*Captured) error {
	c := &locked{collection: *r.collection, stood: *r.collection}
	number := int16(c.number)
	var w writes
	for _, moved := range records {
		t := &tuple{key: moved.Key}
		for i := range moved.Sections {
			s := &moved.Sections[i]
			slot := &slot{Section: s.Section, body: s.Body}
			slot.place = place{format: FormatSQL, chunked: s.Length > chunkSize}
			c.rowIdentity++
			w.inSQL.add(c, t, slot)
			if slot.place.chunked {
				w.chunked = append(w.chunked, chunkedSection{c, t.key, slot})
			}
			tx.Queue(sqlRemoveInStore, number, c.id, t.key, s.Name, s.Sequence)
		}
	}
	if err := w.sendChunks(ctx, tx); err != nil {
		return err
	}
	into := &w.inSQL
	tx.Queue(sqlMoveIntoSQL, into.numbers, into.ids, into.keys, into.sections, into.rows, into.live, into.digests, into.lengths,
		into.contents, into.chunks, into.producers, into.sequences, into.updated)
	tx.Queue(sqlDemandMovedBack, number, c.id, into.keys, into.sections)
	token := domain.RandomID[domain.TokenKind]()
	tx.Queue(sqlTakeRows, number, c.name, c.rowIdentity, token, c.stood.format, c.stood.token)
	tx.Queue(sqlDemandMove, number, c.name, token)
	return nil
}
