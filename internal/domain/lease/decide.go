package lease

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// decision is one decision on one world, under its head's lock. Those of one
// tenant on one database share transactions, across worlds.
type decision struct {
	world worldRef
	ids   []string // entry ids that it asks for
	line  bool     // it looks at the waiting line
	bytes int      // of entries
	// decide writes to the world, or gives an error for its caller, or both: a
	// rejected append is evidence, and an ended lease is ended. It may be asked
	// again, in another transaction, and then decides anew.
	decide func(w *locked) error

	refused error // by decide
	absent  bool  // there is no such world
	busy    bool  // another process holds its head
}

func (d *decision) weight() int { return d.bytes }

// decide makes one decision on a world. An id that was never a world's, or is
// retired, is errNoWorld.
//
// A head that another process holds is not waited for where that would hold up
// others: its decisions are asked for again, by turns in a transaction that waits a
// little for its heads and, if that was in vain, beside the others.
func (s *Service) decide(ctx context.Context, tenant domain.TenantID, d *decision) error {
	return s.decideEach(ctx, s.router.Database(d.world.number), tenant, []*decision{d})[0]
}

// decideEach makes decisions on worlds of one database, each for itself.
func (s *Service) decideEach(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*decision) []error {
	ctx = context.WithoutCancel(ctx) // decide writes to what its caller will read
	outcomes := make([]error, len(all))
	asked := make([]int, len(all)) // indexes of those that aren't made
	for i := range all {
		asked[i] = i
	}
	sharer, other := s.deciding, s.queueing
	for began := time.Now(); ; sharer, other = other, sharer {
		again := make([]*decision, len(asked))
		for k, i := range asked {
			again[k] = all[i]
		}
		var busy []int
		for k, err := range sharer.DoEach(ctx, db, tenant, again...) {
			switch i := asked[k]; {
			case err != nil:
				outcomes[i] = err
			case all[i].busy && time.Since(began) < busyTimeout:
				busy = append(busy, i)
			default:
				outcomes[i] = all[i].outcome()
			}
		}
		if asked = busy; len(asked) == 0 {
			return outcomes
		}
	}
}

var errBusy = domain.Unavailable("world_busy",
	"Another server is busy with this world. Nothing was changed; try again.").After(time.Second)

func (d *decision) outcome() error {
	switch {
	case d.absent:
		return errNoWorld
	case d.busy:
		return errBusy
	}
	return d.refused
}

// decideBeside leaves out the worlds whose heads another process holds.
func (s *Service) decideBeside(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*decision) error {
	return s.decideAll(ctx, db, tenant, all, false)
}

// decideInTurn queues for the heads that another process holds. If one of them
// isn't to be had soon, all are busy: the others are tried beside it again.
func (s *Service) decideInTurn(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*decision) error {
	err := s.decideAll(ctx, db, tenant, all, true)
	if domain.CodeOf(err) != "database_busy" {
		return err
	}
	for _, d := range all {
		d.busy = true
	}
	return nil
}

func (s *Service) decideAll(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*decision, wait bool) error {
	turns, numbers := takeTurns(all)
	var told []*locked
	err := tenancy.Run(ctx, db, s.entry(tenant, numbers...), func(ctx context.Context, tx *tenancy.Tx) error {
		f := &flush{tx, turns}
		if err := f.look(ctx, wait); err != nil {
			return err
		}
		var err error
		told, err = f.decide()
		return err
	})
	if err != nil {
		return err
	}
	s.metrics.flushed(ctx, len(all), turns)
	s.grew(db, tenant, told...)
	return nil
}
