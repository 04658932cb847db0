package lease

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

var errReplayMismatch = domain.Conflict("replay_mismatch",
	"That isn't the handoff's position and the chain hash there. Read the journal through the handoff, and send what stands there.")

// Activate lets the holder write, once it shows that it has replayed the journal
// through the handoff that made it the holder: the position, and the chain hash
// there, which only the journal tells. A term that was cut short by the time to
// activate is whole from then on. Repeated, it changes nothing.
//
// Errors: not found, conflict replay_mismatch, fenced, lease_expired, unavailable,
// outcome unknown.
func (s *Service) Activate(ctx context.Context, scope tenancy.Scope, world string, a Authority, replayed int64, hash journal.Hash) (State, error) {
	caller := actorOf(scope)
	return s.decideState(ctx, scope.Tenant, world, func(w *locked) error {
		if err := w.holds(caller, &a); err != nil {
			return err
		}
		if replayed != w.GrantedPosition || hash != w.grantedHash {
			return errReplayMismatch.With("handoff_position", w.GrantedPosition)
		}
		if !w.Activated {
			w.note(journal.KindLeaseActivated, w.Epoch, caller, journal.Activated{Epoch: w.Epoch, ReplayedPosition: replayed})
			if w.ExpiresAt.Equal(w.ActivateBy) {
				w.renew(caller) // the time to activate cut the term short
			}
		}
		return nil
	})
}
