package lease

import (
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// locked is a world under its head's lock. Decisions on it look, and then write:
// entries behind its journal, and with them the head. One decision sees what those
// before it in the transaction did.
type locked struct {
	head
	now time.Time // behind the lock, and never before the last entry

	known      map[string]knownEntry // by entry id: those that decisions ask for
	rejections map[journal.Actor]*rejection
	waiters    []waiter // in line, those that have gone too

	entries []journal.Entry // that the decisions wrote
	changed bool            // the head, without an entry
	fault   error           // a decision broke a rule: nothing may be committed
	tally   tally
	beside  []func(tx *tenancy.Tx) // queue what is committed with the entries
}

// write puts an entry behind the journal and applies it to the head by the same
// function that replays it. A decision that replaying would refuse is a fault,
// and rolls everything back.
func (w *locked) write(e journal.Entry) {
	if w.fault != nil {
		return
	}
	e.Position, e.At = w.Position+1, w.now
	e.Hash = e.Chain(w.Hash)
	if w.fault = w.Apply(e); w.fault != nil {
		return
	}
	if w.GrantedPosition == e.Position {
		w.grantedHash = e.Hash
	}
	w.entries = append(w.entries, e)
	if e.EntryID != "" {
		w.known[e.EntryID] = knownOf(e)
	}
}

// note puts an entry of Holdfast's own behind the journal.
func (w *locked) note(kind journal.Kind, epoch int64, by journal.Actor, details any) {
	canonical, err := journal.Canonical(details)
	if err != nil && w.fault == nil {
		w.fault = fmt.Errorf("the details of %s: %v", kind, err) // not a caller's fault, whatever kind the error has
	}
	w.write(journal.Entry{Epoch: epoch, Kind: kind, Actor: by, Details: canonical})
}

// settle does what is due before anything else is looked at: it ends a lease
// whose time is over, and journals the rejections that have been counted for
// long enough.
func (w *locked) settle() {
	if w.over() {
		w.tally.late = w.now.Sub(w.ExpiresAt)
		w.end(journal.ReasonExpiry, journal.Coordinator)
		w.expiredEpoch = w.Epoch - 1
	}
	w.journalRejections()
}

// over tells whether a node's lease has ended. Until it is activated its expiry is
// never behind the time by which it must be.
func (w *locked) over() bool { return !w.Holder.IsCoordinator() && !w.now.Before(w.ExpiresAt) }

// end takes the lease from the node that holds it and gives it to the coordinator.
func (w *locked) end(reason string, by journal.Actor) {
	w.note(journal.KindLeaseRevoked, w.Epoch, by, journal.Revoked{
		Epoch: w.Epoch, Reason: reason, By: by, RenewedPosition: w.RenewedPosition,
	})
	next := w.Epoch + 1
	w.note(journal.KindLeaseGranted, next, journal.Coordinator, journal.Granted{
		Holder: journal.Coordinator, Epoch: next, GrantedAtPosition: w.Position + 1,
	})
	w.forgetGrant()
}

func (w *locked) forgetGrant() { w.secretHash, w.serverKeyID, w.requestID = nil, "", "" }
