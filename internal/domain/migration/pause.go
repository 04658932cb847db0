package migration

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Pause ends the run that is open, and holds every checkpoint: a pass that is under
// way meets it at its commit. Pausing again finishes what an error had interrupted,
// and so does pausing what is stopped: the stop may not have come to hold them all.
//
// Errors: not found migration_not_found; conflict migration_state,
// plan_hash_differs, migration_moved; unavailable.
func (s *Service) Pause(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan Hash) (Migration, error) {
	m, _, err := s.standing(ctx, tenant, id, plan)
	switch {
	case err != nil:
		return Migration{}, err
	case m.State == Paused, m.State == Stopped:
		return m, s.hold(ctx, &m)
	case m.State != Active:
		return Migration{}, errState(m.State)
	}
	err = s.control.ControlTx(ctx, tenant, func(tx pgx.Tx) error {
		if m, err = transitTx(ctx, tx, &m, step{act: "pause", to: Paused, by: actorOf(scope)}); err != nil {
			return err
		}
		return endRunsTx(ctx, tx, &m, OutcomePaused)
	})
	if err != nil {
		return Migration{}, err
	}
	// A crash here leaves checkpoints that nobody holds. The run has ended, and its
	// worker looks at that every second.
	return m, s.hold(ctx, &m)
}

// Resume takes a paused migration back to active, and with an approval a stopped
// one to where it was. Nothing moves by it: a run has to be asked for.
//
// Errors: not found migration_not_found; conflict migration_state,
// plan_hash_differs, approval_missing, requalification_under_way, migration_moved;
// unavailable.
func (s *Service) Resume(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan Hash) (Migration, error) {
	m, _, err := s.standing(ctx, tenant, id, plan)
	switch {
	case err != nil:
		return Migration{}, err
	case m.State == Active:
		return m, s.hold(ctx, &m) // what an error had interrupted
	case m.State != Paused && m.State != Stopped:
		return Migration{}, errState(m.State)
	case m.Envelope != Hash{}:
		return Migration{}, errBuildMoves
	}
	err = s.control.ControlTx(ctx, tenant, func(tx pgx.Tx) error {
		to := Active
		if m.State == Stopped {
			to = m.Stop.From
			if err := useApprovalTx(ctx, tx, &m, ofResume, m.PlanHash); err != nil {
				return err
			}
		}
		m, err = transitTx(ctx, tx, &m, step{act: "resume", to: to, by: actorOf(scope)})
		return err
	})
	if err != nil {
		return Migration{}, err
	}
	// A crash here leaves checkpoints that are held. The next run lets go of them.
	return m, s.hold(ctx, &m)
}

// Abort ends a migration that hasn't passed the point of no return.
//
// plan is the hash of its plan, zero where there is none yet.
//
// Errors: not found migration_not_found; conflict migration_state,
// plan_hash_differs, migration_moved; unavailable.
func (s *Service) Abort(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan Hash) (Migration, error) {
	m, err := s.Migration(ctx, tenant, id)
	switch {
	case err != nil, m.State == Aborted:
		return m, err
	case m.PlanHash != plan:
		return Migration{}, errOtherHash
	}
	return s.transit(ctx, &m, step{act: "abort", to: Aborted, by: actorOf(scope)})
}

// LowerCaps lowers the caps of an active, paused or stopped migration. A run that is
// open takes them over within about a second.
//
// Errors: not found migration_not_found; invalid caps_invalid; conflict
// migration_state, plan_hash_differs, caps_raised, migration_moved; unavailable.
func (s *Service) LowerCaps(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan Hash, caps Caps) (Migration, error) {
	if err := caps.check(); err != nil {
		return Migration{}, err
	}
	m, _, err := s.standing(ctx, tenant, id, plan)
	switch {
	case err != nil:
		return Migration{}, err
	case m.State != Active && m.State != Paused && m.State != Stopped:
		return Migration{}, errState(m.State)
	case !caps.within(*m.Caps):
		return Migration{}, errCapsRaised
	case caps == *m.Caps:
		return m, nil
	}
	return s.transit(ctx, &m, step{
		act: "caps", to: m.State, by: actorOf(scope), caps: &caps,
		note: struct {
			Was Caps `json:"was"`
			Is  Caps `json:"is"`
		}{*m.Caps, caps},
	})
}

// stopTries bounds how often a stop is tried while others move the migration.
const stopTries = 20

// stop takes a migration to stopped, for a review, from wherever it is, and holds
// its checkpoints. A resumption leads back to why.From, or if that is "" to where it
// was. One that isn't in an acting state, or is stopped already, stays
// as it is.
func (s *Service) stop(ctx context.Context, tenant domain.TenantID, id domain.MigrationID, why Stop) (m Migration, err error) {
	back := why.From
	for range stopTries {
		if m, err = s.Migration(ctx, tenant, id); err != nil || m.State == Stopped || !m.State.MayBecome(Stopped) {
			return m, err
		}
		if why.From = back; back == "" {
			why.From = m.State.resumesAt()
		}
		err = s.control.ControlTx(ctx, tenant, func(tx pgx.Tx) error {
			if m, err = transitTx(ctx, tx, &m, step{act: "stop", to: Stopped, by: holdfast, stop: &why, note: why}); err != nil {
				return err
			}
			return endRunsTx(ctx, tx, &m, OutcomeStopped)
		})
		if domain.CodeOf(err) != errMoved.Code {
			break
		}
		if err := pause(ctx, 0); err != nil {
			return m, err
		}
	}
	if err != nil {
		return m, err
	}
	s.log.WarnContext(ctx, "a migration is stopped for a review", "tenant_id", tenant, "migration_id", id, "category", why.Category, "state", why.From)
	err = s.hold(context.WithoutCancel(ctx), &m)
	if categoryOf(err) == TenantClosed {
		return m, nil // who is refused at the gate needs no other hold; resuming lets go of all
	}
	return m, err
}
