package record

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Bounds of a page of the export.
const (
	MaxExported      = 200     // sections
	maxExportedBytes = 2 << 20 // of bodies, but for one that is larger, which comes alone
)

// ExportRequest asks for a page of a collection's export.
type ExportRequest struct {
	Section string // "" for all
	After   int64  // the sequence that the caller has seen; 0 for the beginning
	Limit   int    // MaxExported if 0, or more
	Bodies  bool
	Mark    bool // a body that can't be had is marked in place, and doesn't fail the page
}

// Exported is a section as its last change left it.
type Exported struct {
	Section
	Key         string
	Revision    int64 // of the record now, which another section may have moved on
	Unavailable bool  // the body can't be had

	whole bool // a body in SQL is as long as its row says
}

// ExportPage is a stretch of an export, in the order in which changes were
// committed. Each section is in the export once, at its last change.
type ExportPage struct {
	Records []Exported
	// Next is the sequence to go on from: everything up to it was seen.
	Next     int64
	More     bool
	Sequence int64 // of the collection's last change
	release  func()
}

// Close lets go of the room that the page's bodies have in memory.
func (p *ExportPage) Close() {
	if p.release != nil {
		p.release()
	}
}

// sqlReadChanges reads the export behind a sequence, $5, and with each section the
// collection's counter. Sequences are taken under the collection's lock, which is
// held until the commit: who sees one sees all before it. Section and counter are of
// one view, and the counter moves in the transaction that writes the sections'
// places: so a page that isn't cut has all that changed up to the counter, and
// nothing that changed behind it.
//
// It ends with the section whose body outgrows the bound $7, or the next one if that
// is the first, and reads the bodies of those only that will be on the page, and of
// none that is longer than the room for it, $9.
const sqlReadChanges = `
SELECT s.counter, s.item_key, s.revision, ` + sectionColumns + `, coalesce(b.whole, false), b.content
  FROM (SELECT c.counter, r.number, r.collection_id, r.item_key, r.revision, s.*,
               sum(s.length) OVER (ORDER BY s.export_sequence) - s.length AS before, row_number() OVER (ORDER BY s.export_sequence) AS place
          FROM (SELECT c.number, c.collection_id, c.export_sequence AS counter, ` + placesOf + ` FROM collections c
                 WHERE c.tenant_id = $1 AND c.number = $2 AND c.collection = $3 LIMIT 1) c
         CROSS JOIN LATERAL (
               SELECT e.* FROM unnest($4::text[]) AS n (section)
                CROSS JOIN LATERAL (SELECT e.export_sequence, e.item_key, e.section FROM export_entries e
                                     WHERE e.tenant_id = $1 AND e.number = c.number AND e.collection_id = c.collection_id
                                       AND e.section = n.section AND e.export_sequence > $5
                                     ORDER BY e.export_sequence LIMIT $6) e
                ORDER BY e.export_sequence LIMIT $6) e
         CROSS JOIN LATERAL (SELECT r.* FROM records r
                              WHERE r.tenant_id = $1 AND r.number = c.number AND r.collection_id = c.collection_id
                                AND r.item_key = e.item_key LIMIT 1) r
         CROSS JOIN LATERAL ` + sectionsOfBoth + ` s
         WHERE s.section = e.section) s
 CROSS JOIN LATERAL (SELECT s.number, s.collection_id, s.item_key) r
  LEFT JOIN LATERAL (` + contentInSQL + ` WHERE $8 AND s.format = 1 AND s.live AND s.length <= $9 AND (s.place = 1 OR s.before + s.length <= $7) LIMIT 1) b ON true
 WHERE s.place <= 2 OR s.before <= $7
 ORDER BY s.export_sequence`

// errExportRewound is for a sequence that the collection hasn't come to, or that was
// given out in a time which a restore has taken back. To go on from there would pass
// over what was published since.
var errExportRewound = domain.Invalid("cursor_ahead",
	"The sequence is ahead of the collection, as after its database was restored from a backup. Begin again without it, or from a snapshot.").At("?after")

// Export gives what has changed in a collection behind a sequence. A reader that
// goes on from each page's Next misses no change, and sees none twice.
//
// Errors: invalid section_unknown, cursor_ahead, not found collection_not_found, unavailable
// body_unavailable with the members key and section, unless the request
// has such bodies marked.
func (s *Service) Export(ctx context.Context, scope tenancy.Scope, collection string, req ExportRequest) (*ExportPage, error) {
	if req.Limit <= 0 || req.Limit > MaxExported {
		req.Limit = MaxExported
	}
	of, err := s.Collection(ctx, scope, collection)
	if err != nil {
		return nil, err
	}
	sections := of.Profile.Sections()
	if req.Section != "" {
		if !slices.Contains(sections, req.Section) {
			return nil, domain.Invalid("section_unknown", "The collection's profile has no such section.").At("?section")
		}
		sections = []string{req.Section}
	}
	if !req.Bodies {
		return s.exportPage(ctx, scope, of, sections, req, 0)
	}
	room := max(maxExportedBytes, s.limits.Body)
	for range maxAttempts {
		var page *ExportPage
		release, err := s.memory.hold(ctx, scope.Tenant, room, func() (err error) {
			page, err = s.exportPage(ctx, scope, of, sections, req, room)
			switch {
			case err != nil:
				return err
			case len(page.Records) > 0 && page.Records[0].Length > room:
				return errOutgrown
			}
			return s.exportBodies(ctx, scope, of, page, req.Mark)
		})
		switch {
		case err == nil:
			page.release = release
			return page, nil
		case !errors.Is(err, errOutgrown):
			return nil, err
		}
		room = page.Records[0].Length // it comes alone
	}
	return nil, errBusy
}

// exportPage reads the counter before the page: whatever is up to it is in view by
// then. It reads no body that is longer than room.
func (s *Service) exportPage(ctx context.Context, scope tenancy.Scope, of Collection, sections []string, req ExportRequest, room int64) (*ExportPage, error) {
	bound := int64(maxExportedBytes)
	if !req.Bodies {
		bound = 1 << 53
	}
	var counted *collection
	var found []Exported
	var seen int64 // which may be ahead of the counter that was read first
	err := s.read(ctx, scope, of.Name, func(tx *tenancy.Tx, ref ref) {
		counted, found, seen = nil, nil, 0
		queueReadCollection(tx, ref, &counted)
		tx.Queue(sqlReadChanges, int16(ref.number), ref.name, sections, req.After, req.Limit+1, bound, req.Bodies, room).
			Query(scanExported(&found, &seen))
	})
	switch {
	case err != nil:
		return nil, err
	case counted == nil:
		return nil, errNoCollection
	case req.After > max(counted.sequence, seen) || domain.Lost(req.After, counted.sequence, counted.restored):
		return nil, errExportRewound
	}
	return cutPage(found, counted.sequence, req, bound), nil
}

// scanExported reads sections, whose rows begin with what before takes.
func scanExported(found *[]Exported, before ...any) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		for rows.Next() {
			var e Exported
			var body []byte
			columns := append(before[:len(before):len(before)], &e.Key, &e.Revision)
			if e.Section, err = scanSection(rowAnd{rows, []any{&e.whole, &body}}, columns...); err != nil {
				return err
			}
			e.Body = body
			*found = append(*found, e)
		}
		return rows.Err()
	}
}

// cutPage ends a page where it is full, and says from where to go on.
func cutPage(found []Exported, counter int64, req ExportRequest, bound int64) *ExportPage {
	page := &ExportPage{Records: found, Next: max(req.After, counter), Sequence: counter, release: func() {}}
	bytes := int64(0)
	for i, e := range found {
		bytes += e.Length
		if i == req.Limit || i > 0 && bytes > bound {
			page.Records, page.More = found[:i], true
			break
		}
	}
	if n := len(page.Records); n > 0 {
		last := page.Records[n-1].Sequence
		page.Sequence = max(page.Sequence, found[len(found)-1].Sequence)
		if page.More {
			page.Next = last
		} else {
			page.Next = max(page.Next, last)
		}
	}
	return page
}
