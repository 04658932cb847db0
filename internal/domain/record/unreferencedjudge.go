package record

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// listing is a page of a collection's objects, by what they are.
type listing struct {
	bodies []listedBody
	parts  []listedPart
	others []domain.Object // that nothing of this package makes
}

type listedBody struct {
	domain.Object
	digest     Digest
	generation int32
}

type listedPart struct {
	domain.Object
	id      domain.SnapshotID
	run     domain.Token
	ordinal int32
	digest  Digest
}

var (
	bodyName   = regexp.MustCompile(`^bodies/v1/sha256/([0-9a-f]{64})(?:\.([1-9][0-9]{0,8}))?$`)
	partObject = regexp.MustCompile(`^snapshots/v1/([0-9a-f-]{36})/([0-9a-f-]{36})/([0-9]{8})-([0-9a-f]{64})\.ndjson$`)
)

// sortObjects sorts a page by what the keys say. What is younger than since, and no
// snapshot's, is left out.
func sortObjects(c *objectCursor, objects []domain.Object, since time.Time) (l listing) {
	prefix := collectionPrefix(c.tenant, c.collection)
	for _, o := range objects {
		name := strings.TrimPrefix(o.Key, prefix)
		part, body := parsePart(name), bodyName.FindStringSubmatch(name)
		switch {
		case part != nil:
			part.Object = o
			l.parts = append(l.parts, *part)
		case o.ModifiedAt.After(since):
		case body != nil:
			generation, _ := strconv.ParseInt("0"+body[2], 10, 32) // at most nine digits
			l.bodies = append(l.bodies, listedBody{o, parsedDigest(body[1]), int32(generation)})
		default:
			l.others = append(l.others, o)
		}
	}
	return l
}

// parsePart reads the name of a part's object; nil if it is none.
func parsePart(name string) *listedPart {
	match := partObject.FindStringSubmatch(name)
	if match == nil {
		return nil
	}
	id, err := domain.ParseID[domain.SnapshotKind](match[1])
	run, err2 := domain.ParseID[domain.TokenKind](match[2])
	if err != nil || err2 != nil {
		return nil
	}
	ordinal, _ := strconv.ParseInt(match[3], 10, 32) // eight digits
	return &listedPart{id: id, run: run, ordinal: int32(ordinal), digest: parsedDigest(match[4])}
}

// parsedDigest reads what an expression has matched.
func parsedDigest(text string) (d Digest) {
	_ = d.UnmarshalText([]byte(text))
	return d
}

const (
	sqlReferencedBodies = `
SELECT p.ordinal FROM unnest($4::bytea[], $5::integer[]) WITH ORDINALITY AS p (digest, generation, ordinal)
 CROSS JOIN LATERAL (SELECT FROM sections_in_store s
                      WHERE s.number::integer = $2::smallint::integer AND s.tenant_id = $1 AND s.collection_id = $3
                        AND s.digest = p.digest AND s.live AND s.generation = p.generation LIMIT 1) s`

	// sqlReferencedParts are the parts that a snapshot has, or may come to have, or
	// that are being removed with it.
	sqlReferencedParts = `
SELECT p.ordinal FROM unnest($4::uuid[], $5::uuid[], $6::integer[], $7::bytea[]) WITH ORDINALITY AS p (snapshot_id, run, part, digest, ordinal)
 CROSS JOIN LATERAL (SELECT s.state FROM snapshots s
                      WHERE s.tenant_id = $1 AND s.number = $2 AND s.collection_id = $3 AND s.snapshot_id = p.snapshot_id
                        AND s.run = p.run AND s.state <> 'failed' LIMIT 1) s
 WHERE s.state <> 'complete'
    OR EXISTS (SELECT FROM snapshot_parts o
                WHERE o.tenant_id = $1 AND o.number = $2 AND o.collection_id = $3 AND o.snapshot_id = p.snapshot_id
                  AND o.ordinal = p.part AND o.digest = p.digest)`
)

// judgeObjects tells to which objects of a page nothing refers: stray ones, and
// leftovers of snapshots by their keys.
func (s *Service) judgeObjects(ctx context.Context, c *objectCursor, l listing) (stray []domain.Object, leftovers []string, err error) {
	bodies, parts := make([]bool, len(l.bodies)), make([]bool, len(l.parts))
	e := s.entry(c.tenant, c.number)
	e.ReadOnly = true
	err = tenancy.Run(ctx, s.router.Database(c.number), e, func(ctx context.Context, tx *tenancy.Tx) error {
		l.queueBodies(tx, c, bodies)
		l.queueParts(tx, c, parts)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	stray = l.others
	for i, referenced := range bodies {
		if !referenced {
			stray = append(stray, l.bodies[i].Object)
		}
	}
	for i, referenced := range parts {
		if !referenced {
			leftovers = append(leftovers, l.parts[i].Key)
		}
	}
	return stray, leftovers, nil
}

func (l *listing) queueBodies(tx *tenancy.Tx, c *objectCursor, referenced []bool) {
	digests, generations := make([][]byte, len(l.bodies)), make([]int32, len(l.bodies))
	for i := range l.bodies {
		digests[i], generations[i] = l.bodies[i].digest[:], l.bodies[i].generation
	}
	if len(digests) > 0 {
		tx.Queue(sqlReferencedBodies, int16(c.number), c.collection, digests, generations).Query(marks(referenced))
	}
}

func (l *listing) queueParts(tx *tenancy.Tx, c *objectCursor, referenced []bool) {
	ids, runs := make([][16]byte, len(l.parts)), make([][16]byte, len(l.parts))
	ordinals, digests := make([]int32, len(l.parts)), make([][]byte, len(l.parts))
	for i := range l.parts {
		p := &l.parts[i]
		ids[i], runs[i], ordinals[i], digests[i] = p.id, p.run, p.ordinal, p.digest[:]
	}
	if len(ids) > 0 {
		tx.Queue(sqlReferencedParts, int16(c.number), c.collection, ids, runs, ordinals, digests).Query(marks(referenced))
	}
}

// marks marks what a statement gives by its ordinal.
func marks(marked []bool) func(rows pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var ordinal int64
		_, err := pgx.ForEachRow(rows, []any{&ordinal}, func() error {
			marked[ordinal-1] = true
			return nil
		})
		return err
	}
}
