package record

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Stored is how bodies came into the store.
type StoredBodies struct {
	Bodies  int
	Bytes   int64
	Uploads int // that were not there yet
	Reuses  int // that were
}

// Prepare brings the bodies of captured records into the store, each read back
// whole before the next of its pipeline begins. Equal bodies go once. No
// transaction is open. When one fails, no other begins, and those that are under
// way end before it returns.
//
// Errors: unavailable, of the store: object_corrupt where other bytes stand at a
// body's key.
func (s *Service) Prepare(ctx context.Context, c *Capture, records []*Captured, inFlight int) (StoredBodies, error) {
	if s.store == nil {
		return StoredBodies{}, errStoreUnavailable.Because(errors.New("none is configured"))
	}
	var done StoredBodies
	unique := map[Digest][]byte{}
	for _, r := range records {
		for _, section := range r.Sections {
			if !section.Live {
				continue
			}
			done.Bodies++
			done.Bytes += section.Length
			if body, known := unique[section.Digest]; known && !bytes.Equal(body, section.Body) {
				return StoredBodies{}, errBodyRefused.Because(errors.New("two bodies of one digest"))
			}
			unique[section.Digest] = section.Body
		}
	}
	var uploads atomic.Int64
	group, going := errgroup.WithContext(ctx)
	group.SetLimit(inFlight)
	for digest, body := range unique {
		if going.Err() != nil {
			break
		}
		group.Go(func() error {
			if going.Err() != nil {
				return nil // another has failed
			}
			uploaded, err := s.store.Ensure(ctx, bodyKey(c.tenant, c.id, digest, 0), body, digest, false)
			if uploaded {
				uploads.Add(1)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return StoredBodies{}, err
	}
	done.Uploads = int(uploads.Load())
	done.Reuses = len(unique) - done.Uploads
	return done, nil
}

// Reread is what stands of captured records, under their collection's lock.
type Reread struct {
	capture    *Capture
	records    []*Captured
	collection *collection
	now        map[string]*Captured
}

// Lock locks a collection of an id, for who looks at nothing of its records.
func (s *Service) Lock(tx *tenancy.Tx, tenant domain.TenantID, name string, id domain.CollectionID) *Reread {
	c := &Capture{tenant: tenant, ref: ref{numberOf(name), name}, id: id}
	r := &Reread{capture: c}
	c.queueLock(tx, r)
	return r
}

func (c *Capture) queueLock(tx *tenancy.Tx, r *Reread) {
	tx.Queue(sqlLockCollection, int16(c.ref.number), c.ref.name).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			r.collection = &collection{}
			if err := scanCollection(rows, r.collection); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// QueueReread locks the collection, and reads again what was captured of records.
func (c *Capture) QueueReread(tx *tenancy.Tx, records []*Captured) *Reread {
	r := &Reread{capture: c, records: records, now: map[string]*Captured{}}
	c.queueLock(tx, r)
	keys := make([]string, len(records))
	for i, record := range records {
		keys[i] = record.Key
	}
	tx.Queue(sqlReread, int16(c.ref.number), c.ref.name, keys).Query(func(rows pgx.Rows) error {
		all, err := scanCaptured(rows)
		for _, record := range all {
			r.now[record.Key] = record
		}
		return err
	})
	return r
}

const sqlLockCollection = sqlReadCollection + ` FOR NO KEY UPDATE`

// Format is the collection's, on its locked row; 0 where there is none any more.
func (r *Reread) Format() int16 {
	if r.collection == nil || r.collection.id != r.capture.id {
		return 0
	}
	return r.collection.format
}

// Unchanged are the records that are just as they were captured: in revision,
// digests, lengths, states, producers, sequences, times and rows.
func (r *Reread) Unchanged() (same []*Captured) {
	for _, was := range r.records {
		if is := r.now[was.Key]; is != nil && was.same(is) {
			same = append(same, was)
		}
	}
	return same
}

func (r *Captured) same(other *Captured) bool {
	if r.Revision != other.Revision || len(r.Sections) != len(other.Sections) {
		return false
	}
	for i := range r.Sections {
		a, b := &r.Sections[i], &other.Sections[i]
		if a.Name != b.Name || a.Live != b.Live || a.Digest != b.Digest || a.Length != b.Length || a.Producer != b.Producer ||
			a.Sequence != b.Sequence || !a.UpdatedAt.Equal(b.UpdatedAt) || a.place != b.place || a.row != b.row || a.exported != b.exported {
			return false
		}
	}
	return true
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

// QueueMove takes records from SQL into the store, where their bodies are. Nothing
// that a reader can see changes.
func (r *Reread) QueueMove(tx *tenancy.Tx, records []*Captured) {
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
	if len(into.keys) == 0 {
		return
	}
	tx.Queue(sqlMoveIntoStore, into.numbers, into.ids, into.keys, into.sections, into.live, into.digests, into.lengths, into.generations,
		into.producers, into.sequences, into.updated)
	tx.Queue(sqlDemandMoved, number, c.id, into.keys, into.sections)
}
