package holdfast

import (
	"errors"
	"fmt"
)

// Why a lease is over.
var (
	// ErrHandedOff says that this process gave its lease away.
	ErrHandedOff = errors.New("holdfast: the lease was handed off")

	// ErrFenced says that another writer has the world.
	ErrFenced = errors.New("another writer has the world")

	// ErrLeaseExpired says that the service has ended the lease at its expiry.
	ErrLeaseExpired = errors.New("its term is over")

	// ErrNotRenewed says that no renewal came through in time, by this process's
	// own clock. The service may not have noticed yet.
	ErrNotRenewed = errors.New("it could not be renewed in time")
)

// LeaseLostError says that a lease ended that this process hasn't given away.
type LeaseLostError struct {
	World  WorldID
	Epoch  int64 // of the lease
	Reason error // ErrFenced, ErrLeaseExpired or ErrNotRenewed

	// Who has the world instead, as far as the service has told.
	Holder      *JournalActor
	HolderEpoch int64

	Err error // the answer or failure that it was known by; nil where it was the clock
}

func (e *LeaseLostError) Error() string {
	text := fmt.Sprintf("holdfast: the lease of %s at epoch %d is lost: %v", e.World, e.Epoch, e.Reason)
	if e.Holder != nil {
		text += fmt.Sprintf("; at epoch %d it is held by %s", e.HolderEpoch, describe(*e.Holder))
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func describe(a JournalActor) string {
	if a.Subject == "" {
		return "the " + a.Type
	}
	return a.Type + " " + a.Subject + " of " + a.Issuer
}

// Unwrap gives the reason and what it was known by.
func (e *LeaseLostError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Reason}
	}
	return []error{e.Reason, e.Err}
}

func (l *HeldLease) lost(reason, by error) *LeaseLostError {
	return &LeaseLostError{World: l.world, Epoch: l.epoch, Reason: reason, Err: by}
}

// lostBy reads a refusal that says that the lease is over; nil for any other error.
func (l *HeldLease) lostBy(err error) *LeaseLostError {
	var answered *Error
	if !errors.As(err, &answered) {
		return nil
	}
	lost := l.lost(nil, err)
	switch answered.Code {
	case "fenced":
		lost.Reason = ErrFenced
	case "lease_expired":
		lost.Reason = ErrLeaseExpired
	default:
		return nil
	}
	lost.Holder = answered.Holder
	if answered.Epoch != nil {
		lost.HolderEpoch = *answered.Epoch
	}
	return lost
}
