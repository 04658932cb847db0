package lease

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// State is where a world's journal ends, and who may write there.
type State struct {
	World string
	journal.State
	Now       time.Time     // when it was so, by the clock that decides
	Remaining time.Duration // of the lease; 0 for the coordinator's
}

func (w *locked) state() State {
	state := State{World: w.ref.id, State: w.State, Now: w.now}
	if !w.Holder.IsCoordinator() {
		state.Remaining = w.ExpiresAt.Sub(w.now)
	}
	return state
}

// decideState makes a decision and gives the state behind it.
func (s *Service) decideState(ctx context.Context, tenant domain.TenantID, world string, decide func(w *locked) error) (state State, err error) {
	ref, err := refOf(world)
	if err != nil {
		return State{}, errNoWorld
	}
	err = s.decide(ctx, tenant, &decision{world: ref, decide: func(w *locked) error {
		err := decide(w)
		state = w.state()
		return err
	}})
	return state, err
}

// Lease tells who has the write lease of a tenant's world now. A lease whose time
// is over is ended first.
//
// Errors: not found, unavailable, outcome unknown.
func (s *Service) Lease(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, world string) (State, error) {
	if err := demandReach(scope, tenant); err != nil {
		return State{}, err
	}
	h, now, err := s.readHead(ctx, tenant, world)
	if err != nil {
		return State{}, err
	}
	w := locked{head: *h, now: later(now, h.LastAt)}
	if w.over() {
		return s.decideState(ctx, tenant, world, func(*locked) error { return nil })
	}
	return w.state(), nil
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Proof says who had the write lease at a position, and gives the entry that made
// it so.
type Proof struct {
	Position int64
	Epoch    int64
	Holder   journal.Actor
	Entry    journal.Entry
}

// sqlMadeWriter finds the entry that made the writer of a position: that of its
// epoch.
const sqlMadeWriter = `
SELECT ` + entryColumns + `
  FROM (SELECT a.epoch FROM journal a
         WHERE a.tenant_id = $1 AND a.number = $2 AND a.world_id = $3 AND a.position = $4 LIMIT 1) a
 CROSS JOIN LATERAL (SELECT e.position FROM lease_epochs e
                      WHERE e.tenant_id = $1 AND e.number = $2 AND e.world_id = $3 AND e.epoch = a.epoch LIMIT 1) e
 CROSS JOIN LATERAL (SELECT j.* FROM journal j
                      WHERE j.tenant_id = $1 AND j.number = $2 AND j.world_id = $3 AND j.position = e.position LIMIT 1) j`

var errNoPosition = domain.NotFound("position_not_found", "The journal has no entry at this position.")

// LeaseAt tells who had the write lease of a tenant's world at a position of its
// journal: an entry there was written under that lease.
//
// Errors: not found world_not_found or position_not_found, unavailable.
func (s *Service) LeaseAt(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, world string, position int64) (Proof, error) {
	if err := demandReach(scope, tenant); err != nil {
		return Proof{}, err
	}
	h, _, err := s.readHead(ctx, tenant, world)
	if err != nil {
		return Proof{}, err
	}
	if position < 1 || position > h.Position {
		return Proof{}, errNoPosition
	}
	var made journal.Entry
	e := s.entry(tenant, h.ref.number)
	e.ReadOnly = true
	err = tenancy.Run(ctx, s.router.Database(h.ref.number), e, func(ctx context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlMadeWriter, int16(h.ref.number), h.ref.id, position).Query(func(rows pgx.Rows) (err error) {
			made, err = pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (journal.Entry, error) { return scanEntry(row) })
			return err
		})
		return nil
	})
	if err != nil {
		return Proof{}, err
	}
	holder, err := writerMadeBy(&made)
	return Proof{position, made.Epoch, holder, made}, err
}

func writerMadeBy(e *journal.Entry) (journal.Actor, error) {
	if e.Kind != journal.KindLeaseHandedOff {
		return journal.Coordinator, nil
	}
	details, err := journal.DetailsOf[journal.HandedOff](e)
	return details.To, err
}
