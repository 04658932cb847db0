package identity

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// SweepStep is what one bounded step of a sweep did.
type SweepStep struct {
	Visited   int
	Recovered int
	Done      bool // the pass over this family and number is complete
	Busy      bool // another worker is reading a page of it
}

// candidate is something that a sweep looks into.
type candidate struct {
	tenant   domain.TenantID
	record   ref
	token    domain.Token // of a claim; zero for an operation
	deadline time.Time    // of an operation; zero for a claim
}

// page is what a step looks into.
type page struct {
	found []candidate
	at    time.Time // the clock of the database before the page was read
	busy  bool      // another worker is reading one; nothing was found
	last  bool      // of its pass
}

type sweepKind string

const (
	sweepOperations sweepKind = "operations"
	sweepClaims     sweepKind = "claims"
)

// SweepOperations finishes the overdue and the decided operations of one
// family and number, of all tenants, a page at a time: those too that crashed
// before their first claim.
func (s *Service) SweepOperations(ctx context.Context, database string, family domain.Family, number domain.Number, limit int) (SweepStep, error) {
	m := s.maintenance
	return m.sweep(ctx, database, sweepCursor{kind: sweepOperations, family: family, number: number}, limit, findOperations, m.recoverOperations)
}

// SweepClaims removes the claims of one lookup family and number that their
// owners no longer know, of all tenants, a page at a time.
func (s *Service) SweepClaims(ctx context.Context, database string, family domain.Family, number domain.Number, limit int) (SweepStep, error) {
	m := s.maintenance
	recoverClaims := func(ctx context.Context, p page) (int, error) {
		return eachTenant(p.found, func(tenant domain.TenantID, some []candidate) (int, error) {
			return m.recoverClaims(ctx, tenant, family, number, some)
		})
	}
	return m.sweep(ctx, database, sweepCursor{kind: sweepClaims, family: family, number: number}, limit, findClaims, recoverClaims)
}

// sweep does one bounded step: it reads a page behind the cursor, and deals with
// what it found.
func (s *Service) sweep(ctx context.Context, database string, cursor sweepCursor, limit int,
	find finder, deal func(context.Context, page) (int, error)) (SweepStep, error) {
	db := s.router.Named(database)
	if db == nil {
		return SweepStep{}, fmt.Errorf("no data database %q", database)
	}
	p, err := nextPage(ctx, db, cursor, limit, find)
	if err != nil || p.busy {
		return SweepStep{Busy: p.busy}, err
	}
	step := SweepStep{Visited: len(p.found), Done: p.last}
	if step.Visited == 0 {
		return step, nil
	}
	// A candidate that can't be dealt with now, because its tenant is suspended or
	// another database is down, is met again in the next pass.
	step.Recovered, err = deal(ctx, p)
	if step.Recovered > 0 && !stopped(err) {
		err = errors.Join(err, countRecovered(ctx, db, cursor, step.Recovered))
	}
	return step, err
}

func (s *Service) recoverOperations(ctx context.Context, p page) (recovered int, err error) {
	for _, c := range p.found {
		did, e := s.recover(ctx, c.tenant, c.record)
		if did && e == nil {
			recovered++
		}
		err = errors.Join(err, passing(e))
	}
	return recovered, err
}

// passing leaves out the refusals of a tenant that is not served at the moment:
// its work waits for it.
func passing(err error) error {
	if domain.KindOf(err) == domain.KindForbidden {
		return nil
	}
	return err
}

// eachTenant deals with candidates tenant by tenant, and leaves out those of
// tenants that are not served at the moment. The candidates of a tenant follow
// each other.
func eachTenant(found []candidate, deal func(domain.TenantID, []candidate) (int, error)) (dealt int, err error) {
	for len(found) > 0 {
		n := 1
		for n < len(found) && found[n].tenant == found[0].tenant {
			n++
		}
		did, e := deal(found[0].tenant, found[:n])
		dealt += did
		err = errors.Join(err, passing(e))
		if stopped(e) {
			break
		}
		found = found[n:]
	}
	return dealt, err
}

// recoverClaims looks into a tenant's claims of one family and number.
func (s *Service) recoverClaims(ctx context.Context, tenant domain.TenantID, family domain.Family, number domain.Number, page []candidate) (recovered int, err error) {
	claims, err := s.claimsOf(ctx, tenant, family, number, page)
	if err != nil || len(claims) == 0 {
		return 0, err
	}
	// Owners are read behind their claims: an older reading could not know them.
	owners, err := s.readOwners(ctx, tenant, claims)
	if err != nil {
		return 0, err
	}
	for _, c := range claims {
		switch c.judge(owners[c.owner]) {
		case obsolete, helpable:
			if _, _, err := s.clear(ctx, tenant, c); err != nil {
				return recovered, err
			}
			recovered++
		}
	}
	return recovered, nil
}

func (s *Service) readOwners(ctx context.Context, tenant domain.TenantID, claims []*claim) (map[ref]*reading, error) {
	owners := map[ref]*reading{}
	var readings []*reading
	for _, c := range claims {
		if owners[c.owner] == nil {
			owners[c.owner] = &reading{record: c.owner}
			readings = append(readings, owners[c.owner])
		}
	}
	return owners, onDatabases(readings, func(r *reading) *postgres.Database { return s.router.Database(r.record.Number) },
		func(db *postgres.Database, some []*reading) error { return s.reading.Do(ctx, db, tenant, some...) })
}

// An owner has one claim in a number under one token, or two where a handle's
// skeleton falls into the handle's own bucket. OFFSET keeps each pair a search of
// its own: without it the join would read the whole bucket.
const sqlClaimsOfOwners = `
SELECT p.ordinal, c.key
  FROM unnest($4::uuid[], $5::uuid[]) WITH ORDINALITY AS p (owner_id, token, ordinal)
 CROSS JOIN LATERAL (SELECT c.key FROM claims c
                      WHERE c.tenant_id = $1 AND c.number::integer = $2::integer AND c.family = $3
                        AND c.owner_id = p.owner_id AND c.token = p.token
                     OFFSET 0) c`

func (s *Service) claimsOf(ctx context.Context, tenant domain.TenantID, family domain.Family, number domain.Number, page []candidate) (claims []*claim, err error) {
	owners, tokens := make([][16]byte, len(page)), make([][16]byte, len(page))
	for i, c := range page {
		owners[i], tokens[i] = c.record.ID, c.token
	}
	e := s.entry(tenant, []int16{int16(number)})
	e.ReadOnly = true
	err = tenancy.Run(ctx, s.router.Database(number), e, func(ctx context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlClaimsOfOwners, int32(number), family, owners, tokens).Query(func(rows pgx.Rows) error {
			var ordinal int64
			var key string
			_, err := pgx.ForEachRow(rows, []any{&ordinal, &key}, func() error {
				c := page[ordinal-1]
				claims = append(claims, &claim{link: link{family, number, key, c.token}, owner: c.record})
				return nil
			})
			return err
		})
		return nil
	})
	return claims, err
}
