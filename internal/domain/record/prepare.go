package record

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// knownBodies are digests to which a descriptor stands already: their objects are
// probably there. It proves nothing: they are read all the same.
type knownBodies map[Digest]bool

// sqlKnownBodies looks in the collection only: what others have is not for it to
// know.
const sqlKnownBodies = `
SELECT p.ordinal, s.digest
  FROM unnest($2::smallint[], $3::text[], $4::bytea[]) WITH ORDINALITY AS p (number, collection, digest, ordinal)
 CROSS JOIN LATERAL (SELECT c.collection_id FROM collections c
                      WHERE c.tenant_id = $1 AND c.number = p.number AND c.collection = p.collection LIMIT 1) c
 CROSS JOIN LATERAL (SELECT s.digest FROM sections_in_store s
                      WHERE s.number::integer = p.number::integer AND s.tenant_id = $1
                        AND s.collection_id = c.collection_id AND s.digest = p.digest AND s.live LIMIT 1) s`

func queueKnownBodies(tx *tenancy.Tx, all []*decision) {
	var numbers []int16
	var collections []string
	var digests [][]byte
	var of []*decision // by ordinal
	for _, d := range all {
		d.known = knownBodies{}
		for i := range d.digests {
			numbers = append(numbers, int16(d.collection.number))
			collections = append(collections, d.collection.name)
			digests = append(digests, d.digests[i][:])
			of = append(of, d)
		}
	}
	if len(of) == 0 {
		return
	}
	tx.Queue(sqlKnownBodies, numbers, collections, digests).Query(func(rows pgx.Rows) error {
		var ordinal int64
		var digest []byte
		_, err := pgx.ForEachRow(rows, []any{&ordinal, &digest}, func() error {
			of[ordinal-1].known[Digest(digest)] = true
			return nil
		})
		return err
	})
}

// prepare brings a publication's bodies to where they belong before it commits:
// for format 2, into the store, each read back whole. No transaction is open
// meanwhile. A crash here leaves objects that nothing refers to.
func (s *Service) prepare(ctx context.Context, tenant domain.TenantID, c *locked, d *decision, outcome Outcome, p *Publication) error {
	d.bytes = 0
	known := d.known
	switch {
	case outcome != Published:
		return nil // there is nothing to write, unless that changes
	case c.format == FormatSQL:
		d.bytes = p.size()
		return nil
	case len(p.Bodies) == 0 || p.stored:
		return nil
	case s.store == nil:
		return errStoreUnavailable.Because(errors.New("none is configured"))
	}
	// One that fails doesn't stop the others, which end before this returns.
	var group errgroup.Group
	for section, body := range p.Bodies {
		digest := p.digests[section]
		group.Go(func() error {
			_, err := s.store.Ensure(ctx, bodyKey(tenant, c.id, digest, 0), body, digest, known[digest])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return refused(err)
	}
	p.stored = true
	return nil
}

// below points an error of one item of a list at its place there.
func below(err error, item int) error {
	var e *domain.Error
	if !errors.As(err, &e) {
		return err
	}
	if len(e.Fields) == 0 {
		e = e.At("")
	}
	moved := *e
	moved.Fields = nil
	for _, f := range e.Fields {
		moved.Fields = append(moved.Fields, domain.Field{Pointer: fmt.Sprintf("/items/%d%s", item, f.Pointer), Code: f.Code})
	}
	return &moved
}
