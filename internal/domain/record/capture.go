package record

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Caps bound one pass over records that are moved from SQL into the store.
type Caps struct {
	Inspected int   // rows whose identities are looked at
	Records   int   // that are moved; one always is, however large
	Bytes     int64 // of their bodies
	InFlight  int   // bodies on their way to the store at once
}

// Capture is what one pass is about: records as they were found in SQL, with the
// bodies of all their sections there, in the order of their rows.
type Capture struct {
	Records   []*Captured
	Inspected int   // rows
	After     int64 // the row identity to go on behind: all up to it were captured or left out
	More      bool  // rows were there to be inspected
	tenant    domain.TenantID
	ref       ref
	id        domain.CollectionID
	format    int16
	release   func()
}

// Close lets go of the room that the bodies have in memory.
func (c *Capture) Close() { c.release() }

// Captured is a record as it was found.
type Captured struct {
	Key      string
	Revision int64
	Sections []CapturedSection // those that stand in SQL, by name
}

// CapturedSection is a section as it was found in SQL, with its body.
type CapturedSection struct {
	Section
	row      int64 // its identity
	whole    bool  // its content is as long as it says
	exported bool  // the export has it at its sequence
}

// The reasons for which a section can't be moved.
const (
	DefectLength = "length_mismatch" // the content isn't as long as its row says, or chunks are missing
	DefectDigest = "digest_mismatch" // the content isn't that of the digest
	DefectExport = "export_mismatch" // the export doesn't have the section at its sequence
)

// Defect is a section that isn't what its row says.
type Defect struct {
	Key, Section, Reason string
}

// Defects are what keeps the record from being moved.
func (r *Captured) Defects() (all []Defect) {
	for _, s := range r.Sections {
		switch {
		case !s.exported:
			all = append(all, Defect{r.Key, s.Name, DefectExport})
		case s.Live && !s.whole:
			all = append(all, Defect{r.Key, s.Name, DefectLength})
		case s.Live && DigestOf(s.Body) != s.Digest:
			all = append(all, Defect{r.Key, s.Name, DefectDigest})
		}
	}
	return all
}

const ofCollection = `
  FROM (SELECT c.number, c.collection_id FROM collections c WHERE c.tenant_id = $1 AND c.number = $2 AND c.collection = $3 LIMIT 1) c`

// sqlRowsInSQL walks a collection's rows by their identities, each with the bytes
// of all of its record's.
const sqlRowsInSQL = `
SELECT s.row_identity, s.item_key, t.bytes` + ofCollection + `
 CROSS JOIN LATERAL (SELECT s.row_identity, s.item_key FROM sections_in_sql s
                      WHERE s.number::integer = c.number::integer AND s.tenant_id = $1 AND s.collection_id = c.collection_id
                        AND s.row_identity > $4 AND s.row_identity <= $5
                      ORDER BY s.row_identity LIMIT $6) s
 CROSS JOIN LATERAL (SELECT sum(t.length)::bigint AS bytes FROM sections_in_sql t
                      WHERE t.tenant_id = $1 AND t.number = c.number AND t.collection_id = c.collection_id AND t.item_key = s.item_key) t
 ORDER BY s.row_identity`

// recordsInSQL reads what records have in SQL. sqlCapture reads the bodies with
// it, in the same statement; lengths come before contents.
const (
	recordsInSQL = ofCollection + `
 CROSS JOIN unnest($4::text[]) AS k (item_key)
 CROSS JOIN LATERAL (SELECT r.* FROM records r
                      WHERE r.tenant_id = $1 AND r.number = c.number AND r.collection_id = c.collection_id AND r.item_key = k.item_key LIMIT 1) r
 CROSS JOIN LATERAL (SELECT 1::smallint AS format, 0 AS generation, s.section, s.live, s.digest, s.length, s.chunks,
                            s.producer, s.export_sequence, s.updated_at, s.row_identity
                       FROM sections_in_sql s
                      WHERE s.tenant_id = $1 AND s.number = r.number AND s.collection_id = r.collection_id AND s.item_key = r.item_key) s
  LEFT JOIN LATERAL (SELECT e.export_sequence FROM export_entries e
                      WHERE e.tenant_id = $1 AND e.number = r.number AND e.collection_id = r.collection_id
                        AND e.section = s.section AND e.export_sequence = s.export_sequence AND e.item_key = r.item_key LIMIT 1) e ON true`
	sqlCapture = `
SELECT r.item_key, r.revision, ` + sectionColumns + `, s.row_identity, e.export_sequence IS NOT NULL, coalesce(b.whole, false), b.content` + recordsInSQL + `
  LEFT JOIN LATERAL (` + contentInSQL + ` WHERE s.live AND s.length <= $5 LIMIT 1) b ON true
 ORDER BY r.item_key, s.section`
	sqlReread = `
SELECT r.item_key, r.revision, ` + sectionColumns + `, s.row_identity, e.export_sequence IS NOT NULL, false, NULL::bytea` + recordsInSQL + `
 ORDER BY r.item_key, s.section`
)

// Capture reads the next records behind a row identity, up to another, within the
// caps. Records in leaveOut are passed over. Whoever gets a capture closes it.
//
// Errors: not found collection_not_found; unavailable.
func (s *Service) Capture(ctx context.Context, tenant domain.TenantID, name string, after, upTo int64, leaveOut map[string]bool, caps Caps) (*Capture, error) {
	ref, err := refOf(name)
	if err != nil {
		return nil, errNoCollection
	}
	release, err := s.memory.Take(ctx, tenant, max(caps.Bytes, s.limits.Record))
	if err != nil {
		return nil, err
	}
	c := &Capture{tenant: tenant, ref: ref, After: after, release: release}
	e := s.entry(tenant, ref.number)
	e.ReadOnly = true
	err = tenancy.Run(ctx, s.router.Database(ref.number), e, func(ctx context.Context, tx *tenancy.Tx) error {
		return c.read(ctx, tx, after, upTo, leaveOut, caps)
	})
	if err != nil {
		release()
		return nil, err
	}
	return c, nil
}

func (c *Capture) read(ctx context.Context, tx *tenancy.Tx, after, upTo int64, leaveOut map[string]bool, caps Caps) error {
	var found *collection
	var rows []rowInSQL
	queueReadCollection(tx, c.ref, &found)
	tx.Queue(sqlRowsInSQL, int16(c.ref.number), c.ref.name, after, upTo, caps.Inspected).Query(func(r pgx.Rows) (err error) {
		rows, err = pgx.CollectRows(r, pgx.RowToStructByPos[rowInSQL])
		return err
	})
	if err := tx.Send(ctx); err != nil {
		return err
	}
	if found == nil {
		return errNoCollection
	}
	c.id, c.format = found.id, found.format
	keys := c.choose(rows, leaveOut, caps)
	if len(keys) == 0 {
		return nil
	}
	tx.Queue(sqlCapture, int16(c.ref.number), c.ref.name, keys, max(caps.Bytes, maxFlushBytes)).Query(func(r pgx.Rows) (err error) {
		c.Records, err = scanCaptured(r)
		return err
	})
	return nil
}

type rowInSQL struct {
	Identity int64
	Key      string
	Bytes    int64
}

// choose takes records within the caps, and notes how far it got: behind the last
// row before the first that belongs to a record that must wait for the next pass.
func (c *Capture) choose(rows []rowInSQL, leaveOut map[string]bool, caps Caps) (keys []string) {
	c.More = len(rows) > 0
	bytes := int64(0)
	for _, row := range rows {
		if !leaveOut[row.Key] && !slices.Contains(keys, row.Key) {
			if len(keys) > 0 && (len(keys) == caps.Records || bytes+row.Bytes > caps.Bytes) {
				break
			}
			keys, bytes = append(keys, row.Key), bytes+row.Bytes
		}
		c.After = row.Identity
		c.Inspected++
	}
	return keys
}

func scanCaptured(rows pgx.Rows) (all []*Captured, err error) {
	for rows.Next() {
		var r Captured
		var s CapturedSection
		var body []byte
		s.Section, err = scanSection(rowAnd{rows, []any{&s.row, &s.exported, &s.whole, &body}}, &r.Key, &r.Revision)
		if err != nil {
			return nil, err
		}
		if s.Body = body; s.Live && body == nil {
			s.Body = []byte{}
		}
		if n := len(all); n == 0 || all[n-1].Key != r.Key {
			all = append(all, &r)
		}
		last := all[len(all)-1]
		last.Sections = append(last.Sections, s)
	}
	return all, rows.Err()
}
