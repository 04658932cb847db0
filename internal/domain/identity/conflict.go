package identity

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// maxRecoveries bounds how far a claim conflict goes: it may recover the
// claim's owner, and then whoever came in between. So chains and cycles end.
const maxRecoveries = 2

// claim runs step 2: it claims every new key, side by side on their databases,
// and looks into what stands in the way of those that were not granted.
func (s *Service) claim(ctx context.Context, tenant domain.TenantID, op *operation) error {
	wanted := op.newLinks
	for range maxRecoveries + 1 {
		refused, err := s.claimKeys(ctx, tenant, op, wanted)
		if err != nil || len(refused) == 0 {
			return err
		}
		if err := s.reach(ctx, "refused"); err != nil {
			return err
		}
		wanted, err = s.clearWay(ctx, tenant, op, refused)
		if err != nil || len(wanted) == 0 {
			return err
		}
	}
	return pendingError(wanted, time.Second)
}

func (s *Service) claimKeys(ctx context.Context, tenant domain.TenantID, op *operation, links []link) (refused []link, err error) {
	claims := make([]*claiming, len(links))
	for i, l := range links {
		claims[i] = &claiming{owner: op.record, link: l, until: op.claimsUntil}
	}
	err = onDatabases(claims, func(c *claiming) *postgres.Database { return s.router.Database(c.link.Number) },
		func(db *postgres.Database, some []*claiming) error { return s.claiming.Do(ctx, db, tenant, some...) })
	if err != nil {
		return nil, nothingHappened(err)
	}
	for _, c := range claims {
		s.metrics.claimed(ctx, c.link, c.granted)
		if !c.granted {
			refused = append(refused, c.link)
		}
	}
	return refused, nil
}

// clearWay looks into each refused key and returns those to claim again, or the
// conflict that names every key that is taken or pending.
func (s *Service) clearWay(ctx context.Context, tenant domain.TenantID, op *operation, refused []link) ([]link, error) {
	var again, taken, pending []link
	var wait time.Duration
	for _, l := range refused {
		c, err := s.resolve(ctx, tenant, l)
		if err != nil {
			return nil, err
		}
		if c == nil {
			again = append(again, l)
			continue
		}
		if c.owner == op.record && c.link == l {
			continue // this very operation's
		}
		found, remaining, err := s.clear(ctx, tenant, c)
		switch {
		case err != nil:
			return nil, nothingHappened(err)
		case found == held:
			taken = append(taken, l)
		case found == undecided:
			pending = append(pending, l)
			wait = max(wait, remaining)
		default:
			again = append(again, l)
		}
	}
	switch {
	case len(taken) > 0:
		return nil, takenError(taken)
	case len(pending) > 0:
		return nil, pendingError(pending, wait)
	default:
		return again, nil
	}
}

// pointerOf is where a request names the key.
func pointerOf(l link) string {
	switch l.Family {
	case domain.FamilyEmail:
		return "/email"
	case domain.FamilyDeviceCode:
		return "/user_code"
	default:
		return "/handle"
	}
}

func pendingError(keys []link, wait time.Duration) error {
	e := domain.Conflict("claim_pending",
		"Another request is just claiming the same key. Try again after the time in Retry-After.").After(max(wait, time.Second))
	for _, l := range keys {
		e = e.At(pointerOf(l))
	}
	return e
}

func takenError(keys []link) error {
	var e *domain.Error
	for _, l := range keys {
		this := takenOf(l.Family).At(pointerOf(l))
		switch {
		case e == nil:
			e = this
		case e.Code != this.Code:
			e.Detail += " " + this.Detail
			e.Fields = append(e.Fields, this.Fields...)
		}
	}
	return e
}

func takenOf(family domain.Family) *domain.Error {
	switch family {
	case domain.FamilyEmail:
		return domain.Conflict("email_taken", "The email address is in use by another account.")
	case domain.FamilyDeviceCode:
		return domain.Conflict("user_code_taken", "The user code is in use by another device.")
	default:
		return domain.Conflict("handle_taken", "The handle is in use, or too much like one that is. Choose another.")
	}
}
