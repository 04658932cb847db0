package record

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const (
	checkedAtOnce  = 16      // objects of one collection that are read at once
	checkedBytes   = 8 << 20 // of bodies in SQL that one statement reads
	maxUnreachable = 32      // bodies: then it is the store that is in trouble, and the check ends
)

// wantedBody is a live section's body, by the row that says what it is.
type wantedBody struct {
	key     string
	section string
	place   place
	digest  Digest
	length  int64
}

func (w *inspectedCollection) about(b wantedBody) Violation {
	return w.violation.under(b.key).in(b.section)
}

// readBodies reads bodies, each to its last byte. Their sections may change
// meanwhile, and then it reads what they have now.
func (w *inspectedCollection) readBodies(ctx context.Context, all []wantedBody) error {
	for range maxAttempts {
		var inSQL, inStore []wantedBody
		for _, b := range all {
			if b.place.format == FormatSQL {
				inSQL = append(inSQL, b)
			} else {
				inStore = append(inStore, b)
			}
		}
		moved, err := w.contents(ctx, inSQL)
		if err != nil {
			return err
		}
		changed, err := w.objects(ctx, inStore)
		if err != nil {
			return err
		}
		if all, err = w.standing(ctx, append(moved, changed...)); err != nil || len(all) == 0 {
			return err
		}
	}
	return nil // what changes so often was read by whoever changed it
}

// sqlCheckContents hashes bodies where they are, each under the digest that stands
// beside it at that moment.
const sqlCheckContents = `
SELECT p.ordinal, s.length, s.digest = sha256(coalesce(s.content, c.content, ''))
  FROM unnest($4::text[], $5::text[]) WITH ORDINALITY AS p (item_key, section, ordinal)
 CROSS JOIN LATERAL (SELECT s.* FROM sections_in_sql s
                      WHERE s.tenant_id = $1 AND s.number = $2 AND s.collection_id = $3 AND s.item_key = p.item_key AND s.section = p.section
                        AND s.live LIMIT 1) s
 CROSS JOIN LATERAL (SELECT string_agg(c.content, ''::bytea ORDER BY c.ordinal) AS content FROM section_chunks c
                      WHERE c.tenant_id = $1 AND c.number = $2 AND c.collection_id = $3 AND c.item_key = p.item_key AND c.section = p.section) c`

// contents reads bodies in SQL, some at once, and gives those that aren't there any
// more.
func (w *inspectedCollection) contents(ctx context.Context, all []wantedBody) (moved []wantedBody, err error) {
	for len(all) > 0 {
		some := all[:fitting(all)]
		all = all[len(some):]
		gone, err := w.contentsOf(ctx, some)
		if err != nil {
			return nil, err
		}
		moved = append(moved, gone...)
	}
	return moved, nil
}

// fitting is how many of the bodies one statement reads: at least one.
func fitting(all []wantedBody) int {
	bytes := int64(0)
	for n, b := range all {
		if bytes += b.length; n > 0 && bytes > checkedBytes {
			return n
		}
	}
	return len(all)
}

func (w *inspectedCollection) contentsOf(ctx context.Context, some []wantedBody) (gone []wantedBody, err error) {
	var keys, sections []string
	for _, b := range some {
		keys, sections = append(keys, b.key), append(sections, b.section)
	}
	var census Census
	var wrong []Violation
	here := make([]bool, len(some))
	err = w.look(ctx, func(tx *tenancy.Tx) {
		tx.Queue(sqlCheckContents, w.number, w.id, keys, sections).Query(func(rows pgx.Rows) error {
			var ordinal, length int64
			var sound bool
			_, err := pgx.ForEachRow(rows, []any{&ordinal, &length, &sound}, func() error {
				here[ordinal-1] = true
				if sound {
					census.add(Census{Bodies: 1, Bytes: length})
				} else {
					wrong = append(wrong, w.about(some[ordinal-1]).of(BodyCorrupt,
						"The body in SQL isn't what its digest says: its bytes were changed past Holdfast. Restore them from a backup, or publish the section anew."))
				}
				return nil
			})
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	for n, b := range some {
		if !here[n] {
			gone = append(gone, b)
		}
	}
	w.count(census)
	return gone, w.tellAll(wrong)
}

// objects reads bodies in the store, some at once. It gives those that aren't what
// they should be, if their sections have changed meanwhile.
func (w *inspectedCollection) objects(ctx context.Context, all []wantedBody) (changed []wantedBody, err error) {
	if len(all) > 0 && w.s.store == nil {
		return nil, errStoreMissing
	}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(checkedAtOnce)
	for _, b := range all {
		group.Go(func() error {
			same, err := w.object(ctx, b)
			if err == nil && !same {
				mu.Lock()
				defer mu.Unlock()
				changed = append(changed, b)
			}
			return err
		})
	}
	return changed, group.Wait()
}

// object reads one body. same is false when it isn't what it should be, and its
// section has changed.
func (w *inspectedCollection) object(ctx context.Context, b wantedBody) (same bool, err error) {
	key := bodyKey(w.tenant, w.id, b.digest, b.place.generation)
	err = w.fetchOnce(ctx, key, b)
	if err == nil {
		w.count(Census{Bodies: 1, Bytes: b.length})
		return true, nil
	}
	kind, detail := BodyUnreachable, "The object store didn't give the body at %s, so nobody knows whether it is sound. Check again when it does."
	switch domain.CodeOf(err) {
	case "object_missing":
		kind, detail = BodyMissing, "There is no object at %s, where the body belongs. Restore it from a copy of the bucket, or publish the section anew."
	case codeCorrupt:
		kind, detail = BodyCorrupt, "The object at %s isn't the body that belongs there. Restore it from a copy of the bucket: it has to be removed first."
	default:
		if domain.KindOf(err) != domain.KindUnavailable {
			return false, err
		}
	}
	if kind != BodyUnreachable {
		stands, err := w.standing(ctx, []wantedBody{b})
		if err != nil || len(stands) == 0 || stands[0] != b {
			return false, err
		}
	}
	if told := w.tell(w.about(b).of(kind, fmt.Sprintf(detail, key))); told != nil {
		return false, told
	}
	if kind == BodyUnreachable && w.unreachable() >= maxUnreachable {
		return false, err
	}
	return true, nil
}

// fetchOnce reads an object, of which nothing is kept.
func (w *inspectedCollection) fetchOnce(ctx context.Context, key string, b wantedBody) error {
	if err := w.room.Acquire(ctx, b.length); err != nil {
		return err
	}
	defer w.room.Release(b.length)
	_, err := w.s.store.Fetch(ctx, key, b.digest, b.length)
	return err
}

func (i *inspection) unreachable() int64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.census.Unreachable
}

// sqlCheckStanding reads what sections have now, wherever they are: also where
// nobody else looks.
const sqlCheckStanding = `
SELECT r.item_key, ` + sectionColumns + `
  FROM (SELECT $2::smallint AS number, $3::uuid AS in_sql, $3::uuid AS in_store) c
 CROSS JOIN LATERAL (SELECT c.number, p.item_key, p.section FROM unnest($4::text[], $5::text[]) AS p (item_key, section)) r
 CROSS JOIN LATERAL ` + sectionsOfBoth + ` s
 WHERE s.section = r.section AND s.live`

// standing gives the bodies that sections have now, of those that are live.
func (w *inspectedCollection) standing(ctx context.Context, of []wantedBody) (now []wantedBody, err error) {
	if len(of) == 0 {
		return nil, nil
	}
	var keys, sections []string
	for _, b := range of {
		keys, sections = append(keys, b.key), append(sections, b.section)
	}
	err = w.look(ctx, func(tx *tenancy.Tx) {
		tx.Queue(sqlCheckStanding, w.number, w.id, keys, sections).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var b wantedBody
				s, err := scanSection(rows, &b.key)
				if err != nil {
					return err
				}
				b.section, b.place, b.digest, b.length = s.Name, s.place, s.Digest, s.Length
				now = append(now, b)
			}
			return rows.Err()
		})
	})
	return now, err
}
