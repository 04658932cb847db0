package lease

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// Settle does what is due of a tenant's worlds and nobody has come by to do: it
// ends leases whose time is over, journals rejections that have been counted for
// long enough, and empties lines whose waiters have all gone. It decides as
// everybody does, under each head's lock and by the clock read behind it, so it may
// be asked about any world, at any time, by many at once.
//
// It gives the number of worlds where something was due. A world that doesn't
// exist, or is retired, is passed over.
//
// Errors: unavailable, outcome unknown (settle again); those of several worlds are
// joined, and keep none of the others from being settled.
func (s *Service) Settle(ctx context.Context, tenant domain.TenantID, worlds ...string) (settled int, err error) {
	byDatabase := map[*postgres.Database][]*settling{}
	for _, world := range worlds {
		if ref, err := refOf(world); err == nil {
			db := s.router.Database(ref.number)
			byDatabase[db] = append(byDatabase[db], newSettling(ref))
		}
	}
	for db, some := range byDatabase {
		did, failed := s.settleOn(ctx, db, tenant, some)
		settled += did
		err = errors.Join(err, failed)
	}
	return settled, err
}

// settling is the decision to do what is due of a world, which every decision does
// first.
type settling struct {
	decision
	did bool
}

func newSettling(ref worldRef) *settling {
	d := &settling{}
	d.decision = decision{world: ref, line: true, decide: func(w *locked) error {
		w.first() // those who have gone leave the line
		d.did = w.changed || len(w.entries) > 0
		return nil
	}}
	return d
}

func (s *Service) settleOn(ctx context.Context, db *postgres.Database, tenant domain.TenantID, some []*settling) (settled int, err error) {
	decisions := make([]*decision, len(some))
	for i, d := range some {
		decisions[i] = &d.decision
	}
	for i, failed := range s.decideEach(ctx, db, tenant, decisions) {
		switch {
		case failed == nil && some[i].did:
			settled++
		case failed != nil && !errors.Is(failed, errNoWorld):
			err = errors.Join(err, failed)
		}
	}
	return settled, err
}
