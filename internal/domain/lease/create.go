package lease

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

var (
	errWorldExists = domain.Conflict("world_exists", "There is a world with this id.")
	errRetired     = domain.Conflict("world_retired",
		"There was a world with this id, and an id is never used again. Choose another.")
)

// sqlReadHead reads a head without locking it.
const sqlReadHead = `
SELECT ` + headColumns + `
  FROM worlds w WHERE w.tenant_id = $1 AND w.number = $2 AND w.world_id = $3`

// CreateWorld makes a world, which the coordinator holds at epoch 1, and its
// journal's first entry.
//
// Errors: invalid world_id_invalid, conflict world_exists or world_retired,
// forbidden quota_exceeded, unavailable, outcome unknown.
func (s *Service) CreateWorld(ctx context.Context, scope tenancy.Scope, id string, policy Policy) (World, error) {
	ref, err := refOf(id)
	if err != nil {
		return World{}, at(err, "/world_id")
	}
	if full := s.quotas.Demand(ctx, scope.Tenant, domain.Worlds, 1); full != nil {
		if _, _, err := s.readHead(ctx, scope.Tenant, id); err == nil {
			return World{}, errWorldExists // of a request, perhaps, whose answer was lost
		}
		return World{}, full
	}
	var made *locked
	var standing *head
	err = tenancy.Run(ctx, s.router.Database(ref.number), s.entry(scope.Tenant, ref.number), func(ctx context.Context, tx *tenancy.Tx) error {
		standing = nil
		var now time.Time
		queueReadHead(tx, ref, &standing)
		tx.QueueNow(&now)
		if err := tx.Send(ctx); err != nil || standing != nil {
			return err
		}
		made = &locked{head: head{State: journal.Begin(scope.Tenant, id), ref: ref, policy: policy}, now: now.UTC()}
		made.createdAt = made.now
		made.note(journal.KindWorldCreated, 1, actorOf(scope), journal.Created{})
		if made.fault != nil {
			return made.fault
		}
		var all writes
		all.add(made)
		all.queue(tx)
		return nil
	})
	switch {
	case isUniqueViolation(err):
		return World{}, errWorldExists // somebody was faster
	case err != nil:
		return World{}, err
	case standing != nil && standing.Retired:
		return World{}, errRetired
	case standing != nil:
		return World{}, errWorldExists
	}
	s.quotas.Grew(scope.Tenant, domain.Worlds, 1)
	return made.shown(), nil
}

// isUniqueViolation tells SQLSTATE 23505.
func isUniqueViolation(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23505"
}

func queueReadHead(tx *tenancy.Tx, ref worldRef, found **head) {
	tx.Queue(sqlReadHead, int16(ref.number), ref.id).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			h := &head{ref: ref}
			if err := scanHead(rows, h); err != nil {
				return err
			}
			*found = h
		}
		return rows.Err()
	})
}

// readHead reads a head without locking it; errNoWorld for none, or a retired one.
func (s *Service) readHead(ctx context.Context, tenant domain.TenantID, id string) (*head, time.Time, error) {
	ref, err := refOf(id)
	if err != nil {
		return nil, time.Time{}, errNoWorld
	}
	var found *head
	var now time.Time
	e := s.entry(tenant, ref.number)
	e.ReadOnly = true
	err = tenancy.Run(ctx, s.router.Database(ref.number), e, func(ctx context.Context, tx *tenancy.Tx) error {
		found = nil
		queueReadHead(tx, ref, &found)
		tx.QueueNow(&now)
		return nil
	})
	switch {
	case err != nil:
		return nil, time.Time{}, err
	case found == nil || found.Retired:
		return nil, time.Time{}, errNoWorld
	}
	return found, now.UTC(), nil
}

// World gives a world.
//
// Errors: not found world_not_found, unavailable.
func (s *Service) World(ctx context.Context, scope tenancy.Scope, id string) (World, error) {
	h, _, err := s.readHead(ctx, scope.Tenant, id)
	if err != nil {
		return World{}, err
	}
	return h.shown(), nil
}

var errHeld = domain.Conflict("lease_held", "A node has the lease of this world.")

// RetireWorld ends a world for good. Its id is never used again, so no old token
// or receipt can match a later journal, and its journal stays, for nobody to read.
//
// Errors: not found, conflict lease_held while a node holds, unavailable, outcome
// unknown.
func (s *Service) RetireWorld(ctx context.Context, scope tenancy.Scope, id string) error {
	ref, err := refOf(id)
	if err != nil {
		return errNoWorld
	}
	return s.decide(ctx, scope.Tenant, &decision{world: ref, line: true, decide: func(w *locked) error {
		if !w.Holder.IsCoordinator() {
			return errHeld.After(w.ExpiresAt.Sub(w.now))
		}
		for i := range w.waiters {
			w.waiters[i].gone = true
		}
		w.closeRejections()
		w.note(journal.KindWorldRetired, w.Epoch, actorOf(scope), journal.Retired{})
		return nil
	}})
}
