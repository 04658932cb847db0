package record

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Caps bound one pass over records that are moved from one format to the other.
type Caps struct {
	Inspected int   // rows that are looked at
	Records   int   // that are moved; one always is, however large
	Bytes     int64 // of their bodies
	InFlight  int   // bodies on their way to the store, or from there, at once
}

// Cursor is where a walk over a collection's records is: by their rows' identities
// on the way out of SQL, and by their keys on the way back.
type Cursor struct {
	Row int64
	Key string
}

// Selection says which records a capture is to have.
type Selection struct {
	From     int16                 // the format that they are to be moved out of
	After    Cursor                // where they begin
	UpTo     int64                 // the last row identity, out of SQL
	LeaveOut func(key string) bool // nil for none
	Caps     Caps
}

// Capture is what one pass is about: records as they were found in one format, in
// the order of the walk. Out of SQL they come with their bodies; out of the store,
// Prepare reads these.
type Capture struct {
	Records   []*Captured
	Inspected int    // rows
	After     Cursor // to go on behind: all up to it were captured or left out
	More      bool   // rows were there to be inspected
	from      int16
	tenant    domain.TenantID
	ref       ref
	id        domain.CollectionID
	release   func()
}

// Close lets go of the room that the bodies have in memory.
func (c *Capture) Close() { c.release() }

// Captured is a record as it was found.
type Captured struct {
	Key      string
	Revision int64
	Sections []CapturedSection // those that stand in the format, by name
}

// CapturedSection is a section as it was found, with its body if that is in SQL.
type CapturedSection struct {
	Section
	key      string // its record's
	row      int64  // its identity in SQL
	whole    bool   // its content in SQL is as long as it says
	exported bool   // the export has it at its sequence
}

func (s *Selection) leavesOut(key string) bool { return s.LeaveOut != nil && s.LeaveOut(key) }

// rows is how many rows are looked at for one capture: what it can take of records
// of a few sections each, and no more, since the next looks at the rest again.
func (s *Selection) rows() int { return min(s.Caps.Inspected, usualSections*s.Caps.Records) }

// candidates is of how many of these the bytes are summed up: rows behind them are
// only passed by, with a record that was chosen or left out.
func (s *Selection) candidates() int { return 2 * s.Caps.Records }

// usualSections is how many sections records have, as a rule.
const usualSections = 4

// Capture reads the next records of a collection, within the caps: lengths come
// before contents. Whoever gets a capture closes it.
//
// Errors: not found collection_not_found; unavailable.
func (s *Service) Capture(ctx context.Context, tenant domain.TenantID, name string, want Selection) (*Capture, error) {
	ref, err := refOf(name)
	if err != nil {
		return nil, errNoCollection
	}
	e := s.entry(tenant, ref.number)
	e.ReadOnly = true
	room := max(want.Caps.Bytes, s.limits.Record)
	for range maxAttempts {
		c := &Capture{from: want.From, tenant: tenant, ref: ref, After: want.After}
		needs := int64(0)
		release, err := s.memory.hold(ctx, tenant, room, func() error {
			return tenancy.Run(ctx, s.router.Database(ref.number), e, func(ctx context.Context, tx *tenancy.Tx) (err error) {
				needs, err = c.read(ctx, tx, want, room)
				return err
			})
		})
		switch {
		case err == nil:
			c.release = release
			return c, nil
		case !errors.Is(err, errOutgrown):
			return nil, err
		}
		room = needs // the record goes alone
	}
	return nil, errBusy
}

// read fails with errOutgrown when the bodies need more than the room that they
// have, and tells how much.
func (c *Capture) read(ctx context.Context, tx *tenancy.Tx, want Selection, room int64) (needs int64, err error) {
	var found *collection
	var rows []inspectedRow
	queueReadCollection(tx, c.ref, &found)
	c.queueRows(tx, want).Query(func(r pgx.Rows) (err error) {
		rows, err = pgx.CollectRows(r, pgx.RowToStructByPos[inspectedRow])
		return err
	})
	if err := tx.Send(ctx); err != nil {
		return 0, err
	}
	if found == nil {
		return 0, errNoCollection
	}
	c.id = found.id
	keys, needs := c.choose(rows, want)
	switch {
	case len(keys) == 0:
		return 0, nil
	case needs > room:
		return needs, errOutgrown
	}
	c.queueRecords(tx, keys, room).Query(func(r pgx.Rows) (err error) {
		c.Records, err = scanCaptured(r)
		return err
	})
	return needs, nil
}

func (c *Capture) queueRows(tx *tenancy.Tx, want Selection) *pgx.QueuedQuery {
	if c.from == FormatStore {
		return tx.Queue(sqlRowsInStore, int16(c.ref.number), c.ref.name, want.After.Key, want.rows(), want.candidates())
	}
	return tx.Queue(sqlRowsInSQL, int16(c.ref.number), c.ref.name, want.After.Row, want.UpTo, want.rows(), want.candidates())
}

func (c *Capture) queueRecords(tx *tenancy.Tx, keys []string, room int64) *pgx.QueuedQuery {
	if c.from == FormatStore {
		return tx.Queue(sqlCapturedInStore, int16(c.ref.number), c.ref.name, keys)
	}
	return tx.Queue(sqlCaptureInSQL, int16(c.ref.number), c.ref.name, keys, room)
}

// inspectedRow is a row that the walk has come by.
type inspectedRow struct {
	Identity int64 // 0 in the store
	Key      string
	Bytes    *int64 // of all its record's bodies in the format; nil behind the candidates
}

// choose takes records within the caps, and notes how far it got: behind the last
// row before the first that belongs to a record that must wait for the next pass.
// By key all rows of a record come together, and it is taken or left with the first.
func (c *Capture) choose(rows []inspectedRow, want Selection) (keys []string, bytes int64) {
	c.More = len(rows) > 0
	for _, row := range rows {
		if !slices.Contains(keys, row.Key) && !want.leavesOut(row.Key) {
			if row.Bytes == nil || len(keys) > 0 && (len(keys) == want.Caps.Records || bytes+*row.Bytes > want.Caps.Bytes) {
				break
			}
			keys, bytes = append(keys, row.Key), bytes+*row.Bytes
		}
		if c.After.Row = row.Identity; c.from == FormatStore {
			c.After.Key = row.Key
		}
		c.Inspected++
	}
	return keys, bytes
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
		s.key = r.Key
		last.Sections = append(last.Sections, s)
	}
	return all, rows.Err()
}
