package record

import (
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// writes are rows as columns, for unnest.
type writes struct {
	chunked  []chunkedSection
	records  recordColumns
	inSQL    inSQLColumns
	inStore  inStoreColumns
	exports  exportColumns
	receipts receiptColumns
}

func (w *writes) queue(tx *tenancy.Tx) {
	if c := &w.records; len(c.keys) > 0 {
		tx.Queue(sqlWriteRecords, c.numbers, c.ids, c.keys, c.revisions, c.live, c.created, c.updated)
	}
	if c := &w.inSQL; len(c.keys) > 0 {
		tx.Queue(sqlWriteInSQL, c.numbers, c.ids, c.keys, c.sections, c.rows, c.live, c.digests, c.lengths,
			c.contents, c.chunks, c.producers, c.sequences, c.updated)
	}
	if c := &w.inStore; len(c.keys) > 0 {
		tx.Queue(sqlWriteInStore, c.numbers, c.ids, c.keys, c.sections, c.live, c.digests, c.lengths, c.generations,
			c.producers, c.sequences, c.updated)
	}
	if c := &w.exports; len(c.sections) > 0 {
		tx.Queue(sqlWriteExports, c.numbers, c.ids, c.sections, c.sequences, c.keys)
	}
	if c := &w.receipts; len(c.operations) > 0 {
		tx.Queue(sqlWriteReceipts, c.numbers, c.ids, c.operations, c.fingerprints, c.texts, c.at)
	}
}

type inCollections struct {
	numbers []int16
	ids     [][16]byte // plain, so that the driver converts none by reflection
}

func (i *inCollections) add(c *locked) {
	i.numbers = append(i.numbers, int16(c.number))
	i.ids = append(i.ids, c.id)
}

type recordColumns struct {
	inCollections
	keys             []string
	revisions        []int64
	live             []bool
	created, updated []time.Time
}

func (r *recordColumns) add(c *locked, t *tuple) {
	r.inCollections.add(c)
	r.keys = append(r.keys, t.key)
	r.revisions = append(r.revisions, t.revision)
	r.live = append(r.live, t.live)
	r.created = append(r.created, t.createdAt)
	r.updated = append(r.updated, t.updatedAt)
}

// sectionColumnsOf are what both formats have.
type sectionColumnsOf struct {
	inCollections
	keys, sections, producers []string
	live                      []bool
	digests                   [][]byte
	lengths, sequences        []int64
	updated                   []time.Time
}

func (r *sectionColumnsOf) add(c *locked, t *tuple, s *slot) {
	r.inCollections.add(c)
	r.keys = append(r.keys, t.key)
	r.sections = append(r.sections, s.Name)
	r.producers = append(r.producers, s.Producer)
	r.live = append(r.live, s.Live)
	var digest []byte
	if s.Live {
		digest = s.Digest[:]
	}
	r.digests = append(r.digests, digest)
	r.lengths = append(r.lengths, s.Length)
	r.sequences = append(r.sequences, s.Sequence)
	r.updated = append(r.updated, s.UpdatedAt)
}

type inSQLColumns struct {
	sectionColumnsOf
	rows     []int64
	contents [][]byte
	chunks   []int32
}

func (r *inSQLColumns) add(c *locked, t *tuple, s *slot) {
	r.sectionColumnsOf.add(c, t, s)
	r.rows = append(r.rows, c.rowIdentity)
	content, count := s.body, int32(0)
	switch {
	case s.place.chunked:
		content, count = nil, int32(len(chunks(s.body)))
	case s.Live && content == nil:
		content = []byte{} // an empty body is not NULL
	}
	r.contents = append(r.contents, content)
	r.chunks = append(r.chunks, count)
}

type inStoreColumns struct {
	sectionColumnsOf
	generations []*int32
}

func (r *inStoreColumns) add(c *locked, t *tuple, s *slot) {
	r.sectionColumnsOf.add(c, t, s)
	var generation *int32
	if s.Live {
		generation = &s.place.generation
	}
	r.generations = append(r.generations, generation)
}

type exportColumns struct {
	inCollections
	sections, keys []string
	sequences      []int64
}

func (r *exportColumns) add(c *locked, t *tuple, s *slot) {
	r.inCollections.add(c)
	r.sections = append(r.sections, s.Name)
	r.keys = append(r.keys, t.key)
	r.sequences = append(r.sequences, s.Sequence)
}

type receiptColumns struct {
	inCollections
	operations   []string
	fingerprints [][]byte
	texts        []json.RawMessage
	at           []time.Time
}

func (r *receiptColumns) add(c *locked, id string) {
	stored := c.receipts[id]
	text, err := json.Marshal(stored.Stored)
	if err != nil {
		panic(err) // texts, numbers and times always marshal
	}
	r.inCollections.add(c)
	r.operations = append(r.operations, id)
	r.fingerprints = append(r.fingerprints, stored.fingerprint[:])
	r.texts = append(r.texts, text)
	r.at = append(r.at, c.now)
}
