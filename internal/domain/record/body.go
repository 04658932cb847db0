package record

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

var (
	errNoBody = domain.NotFound("section_not_found", "The record has no such section.")
	errGone   = domain.Gone("section_deleted", "The section is a tombstone: it has no body, not even an empty one.")
	errNoURL  = domain.Conflict("body_in_sql",
		"The collection keeps its bodies in SQL, where there is nothing to sign a URL for. Read the body through the API.")
)

// Stat is what is known of a section's body without reading it.
type Stat struct {
	Section
	Revision int64 // of the record
}

// Body is a section's body, verified. Whoever gets one closes it.
type Body struct {
	Stat
	release func()
}

// Close lets go of the room that the body has in memory.
func (b *Body) Close() {
	if b.release != nil {
		b.release()
	}
}

// Stat tells of a live section's body: its digest is that of the bytes.
//
// Errors: not found collection_not_found, record_not_found, section_not_found;
// gone section_deleted; unavailable.
func (s *Service) Stat(ctx context.Context, scope tenancy.Scope, collection, key, section string) (Stat, error) {
	r, err := s.Record(ctx, scope, collection, key)
	if err != nil {
		return Stat{}, err
	}
	found, ok := r.Section(section)
	switch {
	case !ok:
		return Stat{}, errNoBody
	case !found.Live:
		return Stat{}, errGone
	}
	return Stat{*found, r.Revision}, nil
}

// smallBody is the room, in bytes, that a body gets whose length isn't known yet: one
// that fits is read in one transaction.
const smallBody = 32 << 10

// Body reads a live section's body. It resolves what the body must be first, and
// gives it only when all of it was verified to be just that.
//
// Errors: as Stat; unavailable body_unavailable when it can't be had, or isn't
// what it must be.
func (s *Service) Body(ctx context.Context, scope tenancy.Scope, collection, key, section string) (*Body, error) {
	if !validKey(key) {
		return nil, errNoRecord
	}
	room := int64(smallBody)
	for range maxAttempts {
		var found foundBody
		release, err := s.memory.hold(ctx, scope.Tenant, room, func() (err error) {
			found, err = s.readBody(ctx, scope, collection, key, section, room)
			return err
		})
		switch {
		case err == nil:
			return &Body{Stat{found.section, found.revision}, release}, nil
		case errors.Is(err, errOutgrown):
			room = found.section.Length
		case errors.Is(err, errNoBody): // which may be for want of the record, or the collection
			if _, err := s.Stat(ctx, scope, collection, key, section); err != nil {
				return nil, err
			}
		default:
			return nil, err
		}
	}
	return nil, errBusy
}

// sqlReadBody reads a section and, for format 1, its content in the same
// statement: never a newer body under older metadata. Lengths come before
// contents: what isn't as long as it says, or longer than there is room for, is
// not fetched.
const sqlReadBody = `
SELECT c.collection_id, r.revision, ` + sectionColumns + `, coalesce(b.whole, false), b.content
  FROM (SELECT c.number, c.collection_id, ` + placesOf + ` FROM collections c WHERE c.tenant_id = $1 AND c.number = $2 AND c.collection = $3 LIMIT 1) c
 CROSS JOIN LATERAL (SELECT r.* FROM records r
                      WHERE r.tenant_id = $1 AND r.number = c.number AND r.collection_id = c.collection_id AND r.item_key = $4 LIMIT 1) r
 CROSS JOIN LATERAL ` + sectionsOfBoth + ` s
  LEFT JOIN LATERAL (` + contentInSQL + ` WHERE s.format = 1 AND s.live AND s.length <= $6 LIMIT 1) b ON true
 WHERE s.section = $5`

// contentInSQL is the content of a section s of a record r, and whether it is as
// long as it says: the lengths of its parts are known without reading them. Behind
// it comes WHERE, of which sections it is wanted, and LIMIT 1: without that the
// planner makes the condition one of the join around it, and reads them all.
const contentInSQL = `
SELECT coalesce(i.size, k.size, 0) = s.length AS whole,
       CASE WHEN i.size = s.length THEN (SELECT b.content FROM sections_in_sql b
             WHERE b.tenant_id = $1 AND b.number = r.number AND b.collection_id = r.collection_id AND b.item_key = r.item_key AND b.section = s.section)
            WHEN k.size = s.length THEN (SELECT string_agg(k.content, ''::bytea ORDER BY k.ordinal) FROM section_chunks k
             WHERE k.tenant_id = $1 AND k.number = r.number AND k.collection_id = r.collection_id AND k.item_key = r.item_key AND k.section = s.section)
       END AS content
  FROM (SELECT octet_length(b.content) AS size FROM sections_in_sql b
         WHERE b.tenant_id = $1 AND b.number = r.number AND b.collection_id = r.collection_id AND b.item_key = r.item_key AND b.section = s.section) i
 CROSS JOIN (SELECT sum(octet_length(k.content)) AS size FROM section_chunks k
         WHERE k.tenant_id = $1 AND k.number = r.number AND k.collection_id = r.collection_id AND k.item_key = r.item_key AND k.section = s.section) k`

// foundBody is a section as it was read, with its body.
type foundBody struct {
	collection domain.CollectionID
	revision   int64
	section    Section // with its body
}

// readBody reads a section and its body, verified. It fails with errOutgrown, and
// gives the section without its body, when that is longer than there is room for;
// and with errNoBody when the section, the record or the collection isn't there.
func (s *Service) readBody(ctx context.Context, scope tenancy.Scope, collection, key, section string, room int64) (found foundBody, err error) {
	ref, err := refOf(collection)
	if err != nil || !sectionName.MatchString(section) {
		return foundBody{}, errNoBody
	}
	type answer struct {
		foundBody
		there, whole bool
	}
	read := &answer{}
	wanted := &reading{number: ref.number, room: room, queue: func(tx *tenancy.Tx) {
		read.there = false
		tx.Queue(sqlReadBody, int16(ref.number), ref.name, key, section, room).Query(func(rows pgx.Rows) (err error) {
			for rows.Next() {
				read.there = true
				var body []byte
				if read.section, err = scanSection(rowAnd{rows, []any{&read.whole, &body}}, &read.collection, &read.revision); err != nil {
					return err
				}
				read.section.Body = body
			}
			return rows.Err()
		})
	}}
	if err := s.bring(ctx, scope.Tenant, wanted); err != nil {
		return foundBody{}, err
	}
	found = read.foundBody
	switch {
	case !read.there:
		return foundBody{}, errNoBody
	case !found.section.Live:
		return foundBody{}, errGone
	case found.section.Length > room:
		return found, errOutgrown
	case found.section.place.format == FormatStore:
		found.section.Body, err = s.fetch(ctx, scope.Tenant, found.collection, &found.section)
		return found, err
	}
	return found, s.verify(ctx, found.collection, &found.section, read.whole)
}

var errOutgrown = domain.TooLarge("body_outgrown", "The body is longer than the room that it has.")

// rowAnd scans what stands behind the columns that a function knows.
type rowAnd struct {
	pgx.Rows
	behind []any
}

// Scan reads a row.
func (r rowAnd) Scan(into ...any) error { return r.Rows.Scan(append(into, r.behind...)...) }

// fetch gets a body from the store.
func (s *Service) fetch(ctx context.Context, tenant domain.TenantID, collection domain.CollectionID, of *Section) ([]byte, error) {
	if s.store == nil {
		return nil, errBodyUnavailable
	}
	body, err := s.store.Fetch(ctx, bodyKey(tenant, collection, of.Digest, of.place.generation), of.Digest, of.Length)
	if err != nil {
		return nil, unavailable(err)
	}
	return body, nil
}

// verify holds a body that was read from SQL to its length and digest.
func (s *Service) verify(ctx context.Context, collection domain.CollectionID, of *Section, whole bool) error {
	if of.Body == nil {
		of.Body = []byte{}
	}
	if whole && DigestOf(of.Body) == of.Digest {
		return nil
	}
	s.log.ErrorContext(ctx, "a body in SQL isn't what its row says", "collection_id", collection, "section", of.Name, "digest", of.Digest)
	return errBodyUnavailable
}

// Presigned is a URL by which a body can be downloaded for a while, by whoever has
// the URL, who verifies it.
type Presigned struct {
	Stat
	URL       string
	ExpiresAt time.Time
}

// PresignLife is how long such a URL works.
const PresignLife = 5 * time.Minute

// Presign gives a URL of a live section's body.
//
// Errors: as Stat; conflict body_in_sql for format 1.
func (s *Service) Presign(ctx context.Context, scope tenancy.Scope, collection, key, section string) (Presigned, error) {
	stat, err := s.Stat(ctx, scope, collection, key, section)
	if err != nil {
		return Presigned{}, err
	}
	if stat.place.format == FormatSQL {
		return Presigned{}, errNoURL
	}
	if s.store == nil {
		return Presigned{}, errBodyUnavailable
	}
	c, err := s.Collection(ctx, scope, collection)
	if err != nil {
		return Presigned{}, err
	}
	expires := time.Now().Add(PresignLife).UTC().Truncate(time.Second)
	url, err := s.store.Presign(ctx, bodyKey(scope.Tenant, c.ID, stat.Digest, stat.place.generation), section+"-"+stat.Digest.String()[:12], PresignLife)
	if err != nil {
		return Presigned{}, unavailable(err)
	}
	return Presigned{stat, url, expires}, nil
}
