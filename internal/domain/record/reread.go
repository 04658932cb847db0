package record

import (
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

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
	reread := sqlCapturedInSQL
	if c.from == FormatStore {
		reread = sqlCapturedInStore
	}
	tx.Queue(reread, int16(c.ref.number), c.ref.name, keys).Query(func(rows pgx.Rows) error {
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
