package record

import (
	"context"
	"math"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Bounds of a page, which is what a part is made of.
const (
	maxSnapshotLines = 1000
	maxSnapshotBytes = 5 << 20 // of bodies, but for one that is larger, which comes alone
)

// sqlWalk reads the sections of records behind a place, $4 and $5, by key and
// section, of the collection of a name, $8. A page ends as that of sqlReadChanges does.
const sqlWalk = `
SELECT s.item_key, s.revision, ` + sectionColumns + `, coalesce(b.whole, false), b.content
  FROM (SELECT r.number, r.collection_id, r.item_key, r.revision, s.*,
               sum(s.length) OVER (ORDER BY r.item_key, s.section) - s.length AS before,
               row_number() OVER (ORDER BY r.item_key, s.section) AS place
          FROM (SELECT ` + placesOf + ` FROM collections c
                 WHERE c.tenant_id = $1 AND c.number = $2 AND c.collection = $8 AND c.collection_id = $3 LIMIT 1) c
         CROSS JOIN LATERAL (SELECT r.* FROM records r
                              WHERE r.tenant_id = $1 AND r.number = $2 AND r.collection_id = $3 AND r.item_key >= $4
                              ORDER BY r.item_key LIMIT $6) r
         CROSS JOIN LATERAL ` + sectionsOfBoth + ` s
         WHERE r.item_key > $4 OR s.section > $5) s
 CROSS JOIN LATERAL (SELECT s.number, s.collection_id, s.item_key) r
  LEFT JOIN LATERAL (` + contentInSQL + ` WHERE s.format = 1 AND s.live AND (s.place = 1 OR s.before + s.length <= $7) LIMIT 1) b ON true
 WHERE s.place <= $6 AND (s.place <= 2 OR s.before <= $7)
 ORDER BY s.item_key, s.section`

// snapshotPage is what a part is made of.
type snapshotPage struct {
	found []Exported
	last  bool  // of the walk, or of the whole
	upTo  int64 // the sequence that the last page of the export has reached
}

// readPage reads the page behind the cursor, with the bodies that are in SQL.
func (s *Service) readPage(ctx context.Context, sn *snapshot) (*snapshotPage, error) {
	page := &snapshotPage{}
	e := s.entry(sn.tenant, sn.number)
	e.ReadOnly = true
	err := tenancy.Run(ctx, s.router.Database(sn.number), e, func(ctx context.Context, tx *tenancy.Tx) error {
		// One record more for the one at the cursor, and one to see whether there are more.
		const limit = maxSnapshotLines + 2
		if sn.walking {
			tx.Queue(sqlWalk, int16(sn.number), sn.of, sn.afterKey, sn.afterSection, limit, int64(maxSnapshotBytes), sn.Collection).
				Query(scanExported(&page.found))
			return nil
		}
		var of *collection
		queueReadCollection(tx, ref{sn.number, sn.Collection}, &of)
		if err := tx.Send(ctx); err != nil {
			return err
		}
		if of == nil {
			return errNoCollection
		}
		page.upTo = sn.afterSequence // where nothing has changed behind it, the counter stands there
		tx.Queue(sqlReadChanges, int16(sn.number), sn.Collection, of.profile.Sections(), sn.afterSequence, limit, int64(maxSnapshotBytes), true, int64(math.MaxInt64)).
			Query(scanExported(&page.found, &page.upTo))
		return nil
	})
	if err != nil {
		return nil, err
	}
	page.cut()
	return page, nil
}

// cut ends the page where it is full.
func (p *snapshotPage) cut() {
	bytes := int64(0)
	for i, e := range p.found {
		bytes += e.Length
		if i == maxSnapshotLines || i > 0 && bytes > maxSnapshotBytes {
			p.found = p.found[:i]
			return
		}
	}
	p.last = true
}
