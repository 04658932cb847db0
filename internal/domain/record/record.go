package record

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Record gives a record's metadata, its tombstones too.
//
// Errors: not found collection_not_found, record_not_found; unavailable.
func (s *Service) Record(ctx context.Context, scope tenancy.Scope, collection, key string) (Record, error) {
	if !validKey(key) {
		return Record{}, errNoRecord
	}
	c, err := s.lookAt(ctx, scope, collection, decision{keys: []string{key}})
	switch {
	case err != nil:
		return Record{}, err
	case c.tuples[key] == nil:
		return Record{}, errNoRecord
	}
	return *c.tuples[key].shown(c.name), nil
}

// Bodies are a record with the bodies of its live sections, all of one revision.
type Bodies struct {
	Record
	release func()
}

// Close lets go of the room that the bodies have in memory.
func (b *Bodies) Close() {
	if b.release != nil {
		b.release()
	}
}

// RecordWithBodies gives a record with its bodies, each verified. Whoever gets one
// closes it.
//
// Errors: as Record; unavailable body_unavailable when any of the bodies can't be
// had: there is no answer with parts left out.
func (s *Service) RecordWithBodies(ctx context.Context, scope tenancy.Scope, collection, key string) (*Bodies, error) {
	for range maxAttempts {
		r, err := s.Record(ctx, scope, collection, key)
		if err != nil {
			return nil, err
		}
		bodies, err := s.bodiesOf(ctx, scope, r)
		if err != nil || bodies != nil {
			return bodies, err
		}
	}
	return nil, errBusy
}

// errMoved is what a look at a record comes to that changes meanwhile.
var errMoved = errors.New("the record has changed")

// bodiesOf reads the bodies of a record; nil if it changes meanwhile.
func (s *Service) bodiesOf(ctx context.Context, scope tenancy.Scope, r Record) (*Bodies, error) {
	size := int64(0)
	for _, section := range r.Sections {
		size += section.Length
	}
	release, err := s.memory.hold(ctx, scope.Tenant, size, func() error { return s.readBodies(ctx, scope, &r) })
	switch {
	case errors.Is(err, errMoved):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &Bodies{r, release}, nil
}

func (s *Service) readBodies(ctx context.Context, scope tenancy.Scope, r *Record) error {
	var group errgroup.Group
	for i := range r.Sections {
		section := &r.Sections[i]
		if !section.Live {
			continue
		}
		group.Go(func() error {
			found, err := s.readBody(ctx, scope, r.Collection, r.Key, section.Name, section.Length)
			switch kind := domain.KindOf(err); {
			case kind == domain.KindTooLarge, kind == domain.KindGone, err == nil && found.revision != r.Revision:
				return errMoved
			case err != nil:
				return err
			}
			section.Body = found.section.Body
			return nil
		})
	}
	return group.Wait()
}

var errAfter = domain.Invalid("cursor_invalid", "A list goes on behind a key that a page of it ended with.").At("?cursor")

// Filter says which records a list has.
type Filter struct {
	Live *bool // those that have a live section, or those that have none; all if nil
}

// RecordPage is a stretch of a collection.
type RecordPage struct {
	Records []Record
	More    bool
	Last    string // the key to go on behind; of a record that the filter left out, perhaps
}

// sqlListRecords walks so many records by key, and gives those that the filter
// wants: a page costs no more where they are few.
const sqlListRecords = `
SELECT r.item_key, r.revision, r.live, r.created_at, r.updated_at, ` + sectionColumns + `
  FROM (SELECT c.number, c.collection_id, ` + placesOf + ` FROM collections c WHERE c.tenant_id = $1 AND c.number = $2 AND c.collection = $3 LIMIT 1) c
 CROSS JOIN LATERAL (SELECT r.* FROM records r
                      WHERE r.tenant_id = $1 AND r.number = c.number AND r.collection_id = c.collection_id AND r.item_key > $4
                      ORDER BY r.item_key LIMIT $5) r
 CROSS JOIN LATERAL ` + sectionsOfBoth + ` s
 ORDER BY r.item_key`

// Records gives up to limit records behind a key, in the order of their keys'
// bytes. Every record that is there throughout is given once. A page may have
// fewer than there are, where the filter leaves some out.
//
// Errors: invalid cursor_invalid, not found collection_not_found, unavailable.
func (s *Service) Records(ctx context.Context, scope tenancy.Scope, name string, filter Filter, after string, limit int) (RecordPage, error) {
	if after != "" && !validKey(after) {
		return RecordPage{}, errAfter
	}
	var found *collection
	var all []Record
	err := s.read(ctx, scope, name, func(tx *tenancy.Tx, ref ref) {
		found, all = nil, nil
		queueReadCollection(tx, ref, &found)
		tx.Queue(sqlListRecords, int16(ref.number), ref.name, after, limit+1).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var r Record
				section, err := scanSection(rows, &r.Key, &r.Revision, &r.Live, &r.CreatedAt, &r.UpdatedAt)
				if err != nil {
					return err
				}
				if n := len(all); n == 0 || all[n-1].Key != r.Key {
					r.Collection, r.CreatedAt, r.UpdatedAt = ref.name, r.CreatedAt.UTC(), r.UpdatedAt.UTC()
					all = append(all, r)
				}
				last := &all[len(all)-1]
				last.Sections = append(last.Sections, section)
			}
			return rows.Err()
		})
	})
	switch {
	case err != nil:
		return RecordPage{}, err
	case found == nil:
		return RecordPage{}, errNoCollection
	}
	page := RecordPage{More: len(all) > limit}
	for _, r := range all[:min(len(all), limit)] {
		page.Last = r.Key
		if filter.Live == nil || *filter.Live == r.Live {
			slices.SortFunc(r.Sections, func(a, b Section) int { return strings.Compare(a.Name, b.Name) })
			page.Records = append(page.Records, r)
		}
	}
	return page, nil
}
