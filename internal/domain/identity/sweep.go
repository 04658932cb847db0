package identity

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
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

type sweepKind string

const (
	sweepOperations sweepKind = "operations"
	sweepClaims     sweepKind = "claims"
)

// SweepOperations finishes the overdue and the decided operations of one
// family and number, of all tenants, a page at a time: those too that crashed
// before their first claim.
func (s *Service) SweepOperations(ctx context.Context, database string, family domain.Family, number domain.Number, limit int) (SweepStep, error) {
	return s.sweep(ctx, database, sweepCursor{kind: sweepOperations, family: family, number: number}, limit, s.recoverOperations)
}

// SweepClaims removes the claims of one lookup family and number that their
// owners no longer know, of all tenants, a page at a time.
func (s *Service) SweepClaims(ctx context.Context, database string, family domain.Family, number domain.Number, limit int) (SweepStep, error) {
	recoverClaims := func(ctx context.Context, page []candidate) (int, error) {
		return s.recoverClaims(ctx, family, number, page)
	}
	return s.sweep(ctx, database, sweepCursor{kind: sweepClaims, family: family, number: number}, limit, recoverClaims)
}

func (s *Service) sweep(ctx context.Context, database string, cursor sweepCursor, limit int,
	recoverPage func(context.Context, []candidate) (int, error)) (SweepStep, error) {
	db := s.router.Named(database)
	if db == nil {
		return SweepStep{}, fmt.Errorf("no data database %q", database)
	}
	page, busy, err := nextPage(ctx, db, cursor, limit)
	if err != nil || busy {
		return SweepStep{Busy: busy}, err
	}
	step := SweepStep{Visited: len(page), Done: len(page) < limit}
	// A candidate that can't be recovered now, because its tenant is suspended or
	// another database is down, is met again in the next pass.
	step.Recovered, err = recoverPage(ctx, page)
	if step.Recovered > 0 {
		err = errors.Join(err, countRecovered(ctx, db, cursor, step.Recovered))
	}
	return step, err
}

func (s *Service) recoverOperations(ctx context.Context, page []candidate) (recovered int, err error) {
	for _, c := range page {
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

func (s *Service) recoverClaims(ctx context.Context, family domain.Family, number domain.Number, page []candidate) (recovered int, err error) {
	for _, c := range page {
		did, e := s.recoverClaim(ctx, family, number, c)
		recovered += did
		err = errors.Join(err, passing(e))
	}
	return recovered, err
}

const sqlClaimsOfOwner = `
SELECT c.key FROM claims c
 WHERE c.tenant_id = $1 AND c.number = $2 AND c.family = $3 AND c.owner_id = $4 AND c.token = $5`

// recoverClaim looks into the claims that one owner has under one token in one
// number: one, or two where a handle's skeleton is claimed beside it.
func (s *Service) recoverClaim(ctx context.Context, family domain.Family, number domain.Number, c candidate) (int, error) {
	claims, err := s.claimsOf(ctx, family, number, c)
	if err != nil || len(claims) == 0 {
		return 0, err
	}
	// The owner is read behind its claims: an older reading could not know them.
	owner, err := s.read(ctx, c.tenant, c.record, false)
	if err != nil {
		return 0, err
	}
	recovered := 0
	for _, found := range claims {
		switch found.judge(owner) {
		case obsolete, helpable:
			if _, _, err := s.clear(ctx, c.tenant, found); err != nil {
				return recovered, err
			}
			recovered++
		}
	}
	return recovered, nil
}

func (s *Service) claimsOf(ctx context.Context, family domain.Family, number domain.Number, c candidate) (claims []*claim, err error) {
	e := entry(c.tenant, []int16{int16(number)})
	e.ReadOnly = true
	err = tenancy.Run(ctx, s.router.Database(number), e, func(ctx context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlClaimsOfOwner, int16(number), family, c.record.ID, c.token).Query(func(rows pgx.Rows) error {
			var key string
			_, err := pgx.ForEachRow(rows, []any{&key}, func() error {
				claims = append(claims, &claim{link{family, number, key, c.token}, c.record})
				return nil
			})
			return err
		})
		return nil
	})
	return claims, err
}
