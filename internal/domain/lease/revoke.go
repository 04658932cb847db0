package lease

import (
	"context"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Revoke takes a lease from its holder, if it is still the one that was looked at:
// of this epoch, and not renewed since.
type Revoke struct {
	Epoch           int64
	RenewedPosition int64  // of the grant, handoff or renewal that was seen last
	Reason          string // in plain words, 1 to 200 characters; stays in the journal
}

var (
	errReason       = domain.Invalid("reason_invalid", "A revocation needs a reason in 1 to 200 characters.").At("/reason")
	errReasonExpiry = domain.Invalid("reason_invalid", "The journal says so of leases whose term is over. Give your own reason.").At("/reason")

	errNotHeld = domain.Conflict("lease_not_held", "No node has the lease of this world.")
)

// Revoke makes the coordinator the writer again. A caller that was paused between
// looking and revoking does nothing to what has changed since.
//
// Errors: invalid, not found, conflict lease_changed or lease_not_held,
// unavailable, outcome unknown.
func (s *Service) Revoke(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, world string, req Revoke) (done HandedOff, err error) {
	switch n := utf8.RuneCountInString(req.Reason); {
	case n == 0 || n > maxReason || !utf8.ValidString(req.Reason):
		return HandedOff{}, errReason
	case req.Reason == journal.ReasonExpiry:
		return HandedOff{}, errReasonExpiry
	}
	if err := demandReach(scope, tenant); err != nil {
		return HandedOff{}, err
	}
	ref, err := refOf(world)
	if err != nil {
		return HandedOff{}, errNoWorld
	}
	by := actorOf(scope)
	err = s.decide(ctx, tenant, &decision{world: ref, decide: func(w *locked) error {
		switch {
		case w.Holder.IsCoordinator():
			return errNotHeld
		case w.Epoch != req.Epoch || w.RenewedPosition != req.RenewedPosition:
			return domain.Conflict("lease_changed",
				"The lease has changed since it was looked at. Nothing was revoked; look again.").
				With("epoch", w.Epoch).With("renewed_position", w.RenewedPosition)
		}
		w.end(req.Reason, by)
		done = w.handedOff()
		return nil
	}})
	return done, err
}
