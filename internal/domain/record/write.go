package record

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// sqlMoveCollection takes the collection on from where it was found. If anything
// in it has changed since, in spite of the lock, sqlDemandMove stops the transaction.
const (
	sqlMoveCollection = `
UPDATE collections c SET export_sequence = $4, row_identity = $5, claim_generation = $6, token = $9
 WHERE c.tenant_id = $1 AND c.number = $2 AND c.collection = $3
   AND c.record_format = $7 AND c.token = $8`
	sqlDemandMove = `
SELECT demand(count(*) = 1) FROM collections c
 WHERE c.tenant_id = $1 AND c.number = $2 AND c.collection = $3 AND c.token = $4`
)

// sqlWriteRecords writes records over those that were found. Their collection has
// been moved on before, and so they are as they were.
const sqlWriteRecords = `
INSERT INTO records AS r (tenant_id, number, collection_id, item_key, revision, live, created_at, updated_at)
SELECT $1, n.* FROM unnest($2::smallint[], $3::uuid[], $4::text[], $5::bigint[], $6::boolean[], $7::timestamptz[], $8::timestamptz[]) n
ON CONFLICT (tenant_id, number, collection_id, item_key) DO UPDATE
   SET revision = excluded.revision, live = excluded.live, updated_at = excluded.updated_at
 WHERE r.revision < excluded.revision`

const sqlWriteInSQL = `
INSERT INTO sections_in_sql AS s (tenant_id, number, collection_id, item_key, section, row_identity, live, digest, length,
       content, chunks, producer, export_sequence, updated_at)
SELECT $1, n.* FROM unnest($2::smallint[], $3::uuid[], $4::text[], $5::text[], $6::bigint[], $7::boolean[], $8::bytea[], $9::bigint[],
       $10::bytea[], $11::integer[], $12::text[], $13::bigint[], $14::timestamptz[]) n
ON CONFLICT (tenant_id, number, collection_id, item_key, section) DO UPDATE
   SET row_identity = excluded.row_identity, live = excluded.live, digest = excluded.digest, length = excluded.length,
       content = excluded.content, chunks = excluded.chunks, producer = excluded.producer,
       export_sequence = excluded.export_sequence, updated_at = excluded.updated_at
 WHERE s.export_sequence < excluded.export_sequence`

const sqlWriteInStore = `
INSERT INTO sections_in_store AS s (tenant_id, number, collection_id, item_key, section, live, digest, length, generation,
       producer, export_sequence, updated_at)
SELECT $1, n.* FROM unnest($2::smallint[], $3::uuid[], $4::text[], $5::text[], $6::boolean[], $7::bytea[], $8::bigint[], $9::integer[],
       $10::text[], $11::bigint[], $12::timestamptz[]) n
ON CONFLICT (tenant_id, number, collection_id, item_key, section) DO UPDATE
   SET live = excluded.live, digest = excluded.digest, length = excluded.length, generation = excluded.generation,
       producer = excluded.producer, export_sequence = excluded.export_sequence, updated_at = excluded.updated_at
 WHERE s.export_sequence < excluded.export_sequence`

const (
	sqlWriteChunk = `
INSERT INTO section_chunks (tenant_id, number, collection_id, item_key, section, ordinal, content)
VALUES ($1, $2, $3, $4, $5, $6, $7)`
	sqlRemoveChunks = `
DELETE FROM section_chunks s
 WHERE s.tenant_id = $1 AND s.number = $2 AND s.collection_id = $3 AND s.item_key = $4 AND s.section = $5`
	sqlRemoveInSQL = `
DELETE FROM sections_in_sql s
 WHERE s.tenant_id = $1 AND s.number = $2 AND s.collection_id = $3 AND s.item_key = $4 AND s.section = $5`
	sqlRemoveInStore = `
DELETE FROM sections_in_store s
 WHERE s.tenant_id = $1 AND s.number = $2 AND s.collection_id = $3 AND s.item_key = $4 AND s.section = $5 AND s.export_sequence = $6`
)

// sqlRemoveExport is of one place only: a join with many is planned on an empty
// table as a walk through all that the tenant has, and stays so as it grows.
const sqlRemoveExport = `
DELETE FROM export_entries e
 WHERE e.tenant_id = $1 AND e.number = $2 AND e.collection_id = $3 AND e.section = $4 AND e.export_sequence = $5`

const sqlWriteExports = `
INSERT INTO export_entries (tenant_id, number, collection_id, section, export_sequence, item_key)
SELECT $1, n.* FROM unnest($2::smallint[], $3::uuid[], $4::text[], $5::bigint[], $6::text[]) n`

const sqlWriteReceipts = `
INSERT INTO receipts (tenant_id, number, collection_id, operation_id, fingerprint, receipt, created_at)
SELECT $1, n.* FROM unnest($2::smallint[], $3::uuid[], $4::text[], $5::bytea[], $6::json[], $7::timestamptz[]) n`

const sqlWriteFence = `
INSERT INTO fences AS f (tenant_id, number, collection_id, fence_key, fence_revision, item_key, content, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (tenant_id, number, collection_id, fence_key) DO UPDATE
   SET fence_revision = excluded.fence_revision, item_key = excluded.item_key, content = excluded.content, updated_at = excluded.updated_at
 WHERE f.fence_revision < excluded.fence_revision`

// write queues what the decisions changed, and sends chunks ahead: the driver
// copies what is queued, and holds it until it is sent.
func (f *flush) write(ctx context.Context, tx *tenancy.Tx) error {
	var w writes
	for _, t := range f.collections {
		if c := t.locked; c != nil {
			c.queue(tx, &w)
		}
	}
	if err := w.sendChunks(ctx, tx); err != nil {
		return err
	}
	w.queue(tx)
	return nil
}

// queue queues what changed in one collection, one row after the other, and
// gathers what is written for all collections at once.
func (c *locked) queue(tx *tenancy.Tx, w *writes) {
	number := int16(c.number)
	for _, t := range c.tuples {
		if t.revision == t.stood {
			continue
		}
		w.records.add(c, t)
		for _, s := range t.sections {
			if s.changed() {
				c.queueSection(tx, w, t, s)
			}
		}
	}
	for key, f := range c.fences {
		if f.changed {
			tx.Queue(sqlWriteFence, number, c.id, key, f.revision, f.item, f.content[:], c.now)
		}
	}
	for _, id := range c.newReceipts {
		w.receipts.add(c, id)
	}
	c.queueBatches(tx)
	if c.changed() {
		token := domain.RandomID[domain.TokenKind]()
		tx.Queue(sqlMoveCollection, number, c.name, c.sequence, c.rowIdentity, c.claimGeneration,
			c.stood.format, c.stood.token, token)
		tx.Queue(sqlDemandMove, number, c.name, token)
	}
}

// changed tells whether anything is written in the collection. What changes without
// a sequence or a receipt is a batch's.
func (c *locked) changed() bool {
	if c.sequence != c.stood.sequence || len(c.newReceipts) > 0 {
		return true
	}
	for _, b := range c.batches {
		if b.changed {
			return true
		}
	}
	return false
}

// queueSection writes a section to its table, and takes it out of the other.
func (c *locked) queueSection(tx *tenancy.Tx, w *writes, t *tuple, s *slot) {
	number := int16(c.number)
	if s.stood.place.chunked {
		tx.Queue(sqlRemoveChunks, number, c.id, t.key, s.Name)
	}
	switch s.place.format {
	case FormatSQL:
		if s.stood.place.format == FormatStore {
			tx.Queue(sqlRemoveInStore, number, c.id, t.key, s.Name, s.stood.Sequence)
		}
		c.rowIdentity++
		w.inSQL.add(c, t, s)
		if s.place.chunked {
			w.chunked = append(w.chunked, chunkedSection{c, t.key, s})
		}
	case FormatStore:
		if s.stood.place.format == FormatSQL {
			tx.Queue(sqlRemoveInSQL, number, c.id, t.key, s.Name)
		}
		w.inStore.add(c, t, s)
	}
	if s.stood.Sequence != 0 {
		tx.Queue(sqlRemoveExport, number, c.id, s.Name, s.stood.Sequence)
	}
	w.exports.add(c, t, s)
}

func chunks(body []byte) (all [][]byte) {
	for len(body) > chunkSize {
		all, body = append(all, body[:chunkSize]), body[chunkSize:]
	}
	return append(all, body)
}

// chunkedSection is a section whose body goes into chunks.
type chunkedSection struct {
	in  *locked
	key string
	*slot
}

// maxUnsent is how many bytes of chunks are queued before they are sent.
const maxUnsent = 1 << 20

func (w *writes) sendChunks(ctx context.Context, tx *tenancy.Tx) error {
	unsent := 0
	for _, s := range w.chunked {
		for ordinal, chunk := range chunks(s.body) {
			tx.Queue(sqlWriteChunk, int16(s.in.number), s.in.id, s.key, s.Name, ordinal, chunk)
			if unsent += len(chunk); unsent < maxUnsent {
				continue
			}
			if err := tx.Send(ctx); err != nil {
				return err
			}
			unsent = 0
		}
	}
	return nil
}
