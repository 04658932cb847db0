package lease

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// To whom a holder hands its lease.
const (
	ToCoordinator = "coordinator"
	ToNext        = "next" // the first in the waiting line
)

// HandedOff is a change of the writer.
type HandedOff struct {
	World    string
	Position int64 // of the entry that made it
	Epoch    int64 // from there on
	To       journal.Actor
}

var (
	errNobodyWaits = domain.Conflict("nobody_waits", "Nobody stands in line for this lease. Hand it to the coordinator, or keep it.")
	errUnknownTo   = domain.Invalid("to_invalid", `A lease is handed to "coordinator" or to "next".`).At("/to")
)

// HandOff gives the lease back to the coordinator, or to the first in line. What
// the caller sends after it is fenced. Only somebody who waits can be handed to, so
// no mistyped name freezes a world.
//
// Errors: invalid, not found, conflict nobody_waits, fenced or lease_expired,
// unavailable, outcome unknown (a repeated call that is fenced was successful).
func (s *Service) HandOff(ctx context.Context, scope tenancy.Scope, world string, a Authority, to string) (done HandedOff, err error) {
	if to != ToCoordinator && to != ToNext {
		return HandedOff{}, errUnknownTo
	}
	ref, err := refOf(world)
	if err != nil {
		return HandedOff{}, errNoWorld
	}
	caller := actorOf(scope)
	err = s.decide(ctx, scope.Tenant, &decision{world: ref, line: true, decide: func(w *locked) error {
		if err := w.holds(caller, &a); err != nil {
			return err
		}
		if to == ToNext {
			next := w.first()
			if next == nil {
				return errNobodyWaits
			}
			s.handTo(scope.Tenant, w, next, caller)
			next.gone = true // from the line: its next look finds the lease
		} else {
			w.handBack(caller)
		}
		done = w.handedOff()
		return nil
	}})
	return done, err
}

// handBack makes the coordinator the writer.
func (w *locked) handBack(by journal.Actor) {
	w.note(journal.KindLeaseHandedOff, w.Epoch+1, by, journal.HandedOff{
		From: w.Holder, To: journal.Coordinator, Epoch: w.Epoch + 1,
	})
	w.forgetGrant()
}

func (w *locked) handedOff() HandedOff {
	return HandedOff{w.ref.id, w.GrantedPosition, w.Epoch, w.Holder}
}
