package record

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Collections' rows are locked in key order, behind the worlds' heads.
const (
	sqlLockCollections = collectionsToLock + ` FOR NO KEY UPDATE) c`
	sqlLookAtThem      = collectionsToLock + ` LIMIT 1) c`
	collectionsToLock  = `
SELECT p.ordinal, ` + collectionColumns + `
  FROM unnest($2::smallint[], $3::text[]) WITH ORDINALITY AS p (number, collection, ordinal)
 CROSS JOIN LATERAL (SELECT c.* FROM collections c
                      WHERE c.tenant_id = $1 AND c.number = p.number AND c.collection = p.collection`
)

// ofNames are things that decisions look at, each with its collection's name.
const ofNames = `
  FROM unnest($2::smallint[], $3::text[], $4::text[]) WITH ORDINALITY AS p (number, collection, name, ordinal)
 CROSS JOIN LATERAL (SELECT c.collection_id, ` + placesOf + ` FROM collections c
                      WHERE c.tenant_id = $1 AND c.number = p.number AND c.collection = p.collection LIMIT 1) c`

// placesOf are the ids under which a collection's sections are looked for in SQL and
// in the store. Where a sealed one has none it is NULL, under which an index isn't
// even searched.
const placesOf = `CASE WHEN c.sealed AND c.record_format <> 1 THEN NULL ELSE c.collection_id END AS in_sql,
       CASE WHEN c.sealed AND c.record_format <> 2 THEN NULL ELSE c.collection_id END AS in_store`

// sectionColumns are those of a section, in both formats.
const (
	sectionColumns = `s.format, s.section, s.live, s.digest, s.length, s.generation, s.chunks > 0,
       s.producer, s.export_sequence, s.updated_at`

	// sectionsOfBoth reads a record's sections wherever they are, at the placesOf the
	// collection: a section that is moved from one table into the other is in one of
	// them at any time.
	sectionsOfBoth = `
 (SELECT 1::smallint AS format, s.section, s.live, s.digest, s.length, 0 AS generation, s.chunks,
         s.producer, s.export_sequence, s.updated_at
    FROM sections_in_sql s
   WHERE s.tenant_id = $1 AND s.number = r.number AND s.collection_id = c.in_sql AND s.item_key = r.item_key
  UNION ALL
  SELECT 2::smallint, s.section, s.live, s.digest, s.length, coalesce(s.generation, 0), 0,
         s.producer, s.export_sequence, s.updated_at
    FROM sections_in_store s
   WHERE s.tenant_id = $1 AND s.number = r.number AND s.collection_id = c.in_store AND s.item_key = r.item_key)`
)

const sqlReadRecords = `
SELECT p.ordinal, r.revision, r.live, r.created_at, r.updated_at, ` + sectionColumns + ofNames + `
 CROSS JOIN LATERAL (SELECT r.* FROM records r
                      WHERE r.tenant_id = $1 AND r.number = p.number AND r.collection_id = c.collection_id
                        AND r.item_key = p.name LIMIT 1) r
 CROSS JOIN LATERAL ` + sectionsOfBoth + ` s`

const sqlReadClaims = `
SELECT p.ordinal, i.batch_id, i.generation, i.expires_at` + ofNames + `
 CROSS JOIN LATERAL (SELECT i.* FROM item_claims i
                      WHERE i.tenant_id = $1 AND i.number = p.number AND i.collection_id = c.collection_id
                        AND i.item_key = p.name LIMIT 1) i`

const sqlReadReceipts = `
SELECT p.ordinal, r.fingerprint, r.receipt` + ofNames + `
 CROSS JOIN LATERAL (SELECT r.* FROM receipts r
                      WHERE r.tenant_id = $1 AND r.number = p.number AND r.collection_id = c.collection_id
                        AND r.operation_id = p.name LIMIT 1) r`

const sqlReadFences = `
SELECT p.ordinal, f.fence_revision, f.item_key, f.content` + ofNames + `
 CROSS JOIN LATERAL (SELECT f.* FROM fences f
                      WHERE f.tenant_id = $1 AND f.number = p.number AND f.collection_id = c.collection_id
                        AND f.fence_key = p.name LIMIT 1) f`

// nameColumns are names in collections as columns, for unnest.
type nameColumns struct {
	numbers     []int16
	collections []string
	names       []string
	turns       []*turn // by ordinal
}

func (c *nameColumns) add(t *turn, names []string) {
	for _, name := range names {
		c.numbers = append(c.numbers, int16(t.ref.number))
		c.collections = append(c.collections, t.ref.name)
		c.names = append(c.names, name)
		c.turns = append(c.turns, t)
	}
}

// look queues the locks of worlds' heads and collections, and then what the
// decisions rest on, and the clock. Without lock it only reads.
func (f *flush) look(tx *tenancy.Tx, lock bool) {
	var worlds []string
	var records, receipts, fences, batches nameColumns
	var all []*decision
	seen := make(map[ref]bool, len(f.collections))
	for _, t := range f.collections {
		all = append(all, t.decisions...)
		bound := !lock && !seen[t.ref] // who only looks doesn't know yet
		seen[t.ref] = true
		for _, d := range t.decisions {
			records.add(t, d.keys)
			receipts.add(t, d.operations)
			fences.add(t, d.fences)
			batches.add(t, d.batches)
			bound = bound || d.bound
		}
		if bound {
			worlds = append(worlds, worldOf(t.ref.name))
		}
	}
	if lock {
		f.held = lease.Hold(tx, worlds)
		f.lookAtCollections(tx, sqlLockCollections)
	} else {
		f.held = lease.Look(tx, worlds)
		f.lookAtCollections(tx, sqlLookAtThem)
		queueKnownBodies(tx, all)
	}
	if len(records.names) > 0 {
		lookUp(tx, sqlReadRecords, &records, scanTuple)
		lookUp(tx, sqlReadClaims, &records, scanClaim)
	}
	if len(fences.names) > 0 {
		lookUp(tx, sqlReadFences, &fences, scanFence)
	}
	if len(batches.names) > 0 {
		lookUp(tx, sqlReadBatches, &batches, scanBatch)
	}
	// Behind all that an operation writes: who looks without locks, while the
	// operation that it repeats commits, sees the receipt of what it sees done.
	if len(receipts.names) > 0 {
		lookUp(tx, sqlReadReceipts, &receipts, scanReceipt)
	}
	tx.QueueNow(&f.now)
}

// lookAtCollections reads each collection once, for all turns in it.
func (f *flush) lookAtCollections(tx *tenancy.Tx, sql string) {
	var numbers []int16
	var names []string
	var turns [][]*turn // by ordinal
	at := make(map[ref]int, len(f.collections))
	for _, t := range f.collections {
		t.locked = nil
		i, known := at[t.ref]
		if !known {
			i = len(turns)
			at[t.ref] = i
			numbers, names, turns = append(numbers, int16(t.ref.number)), append(names, t.ref.name), append(turns, nil)
		}
		turns[i] = append(turns[i], t)
	}
	tx.Queue(sql, numbers, names).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var ordinal int64
			var c collection
			if err := scanCollection(rows, &c, &ordinal); err != nil {
				return err
			}
			for _, t := range turns[ordinal-1] {
				t.locked = newLocked()
				t.locked.collection, t.locked.stood = c, c
			}
		}
		return rows.Err()
	})
}

// lookUp queues a look-up of names, of which scan gives each row to the collection
// that it is of.
func lookUp(tx *tenancy.Tx, sql string, names *nameColumns, scan func(row pgx.CollectableRow, of func(ordinal int64) (*locked, string)) error) {
	tx.Queue(sql, names.numbers, names.collections, names.names).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			err := scan(rows, func(ordinal int64) (*locked, string) {
				c := names.turns[ordinal-1].locked
				if c == nil {
					c = newLocked() // it was made since, and isn't there for these decisions
				}
				return c, names.names[ordinal-1]
			})
			if err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// scanTuple reads one section, and the record around it.
func scanTuple(row pgx.CollectableRow, of func(int64) (*locked, string)) error {
	var ordinal int64
	var t tuple
	s, err := scanSection(row, &ordinal, &t.revision, &t.live, &t.createdAt, &t.updatedAt)
	if err != nil {
		return err
	}
	c, key := of(ordinal)
	if c.tuples[key] == nil {
		t.key, t.stood, t.sections = key, t.revision, map[string]*slot{}
		t.createdAt, t.updatedAt = t.createdAt.UTC(), t.updatedAt.UTC()
		c.tuples[key] = &t
	}
	c.tuples[key].sections[s.Name] = &slot{Section: s, stood: s}
	return nil
}

// scanSection reads sectionColumns, behind others.
func scanSection(row pgx.CollectableRow, before ...any) (s Section, err error) {
	var digest []byte
	err = row.Scan(append(before, &s.place.format, &s.Name, &s.Live, &digest, &s.Length, &s.place.generation, &s.place.chunked,
		&s.Producer, &s.Sequence, &s.UpdatedAt)...)
	copy(s.Digest[:], digest)
	s.UpdatedAt = s.UpdatedAt.UTC()
	return s, err
}

func scanClaim(row pgx.CollectableRow, of func(int64) (*locked, string)) error {
	var ordinal int64
	var i itemClaim
	if err := row.Scan(&ordinal, &i.batch, &i.generation, &i.expiresAt); err != nil {
		return err
	}
	c, key := of(ordinal)
	i.expiresAt = i.expiresAt.UTC()
	c.claims[key] = &i
	return nil
}

func scanReceipt(row pgx.CollectableRow, of func(int64) (*locked, string)) error {
	var ordinal int64
	var r storedReceipt
	var fingerprint, text []byte
	if err := row.Scan(&ordinal, &fingerprint, &text); err != nil {
		return err
	}
	c, id := of(ordinal)
	copy(r.fingerprint[:], fingerprint)
	err := json.Unmarshal(text, &r.Stored)
	c.receipts[id] = r
	return err
}

func scanFence(row pgx.CollectableRow, of func(int64) (*locked, string)) error {
	var ordinal int64
	var f standingFence
	var content []byte
	if err := row.Scan(&ordinal, &f.revision, &f.item, &content); err != nil {
		return err
	}
	c, key := of(ordinal)
	copy(f.content[:], content)
	c.fences[key] = &f
	return nil
}

// shown is the record as callers see it; nil where there is none.
func (t *tuple) shown(collection string) *Record {
	if t == nil {
		return nil
	}
	r := &Record{Collection: collection, Key: t.key, Revision: t.revision, Live: t.live, CreatedAt: t.createdAt, UpdatedAt: t.updatedAt}
	for _, s := range t.sections {
		r.Sections = append(r.Sections, s.Section)
	}
	slices.SortFunc(r.Sections, func(a, b Section) int { return strings.Compare(a.Name, b.Name) })
	return r
}
