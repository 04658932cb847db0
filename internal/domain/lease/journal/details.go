package journal

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json"
)

// The details of each kind. Optional members are left out when there is nothing
// to say. Terms are in seconds.

// Created belongs to KindWorldCreated: the coordinator holds, at epoch 1.
type Created struct{}

// Granted belongs to KindLeaseGranted. Nobody but the coordinator is granted a
// lease; a node is handed one.
type Granted struct {
	Holder            Actor `json:"holder"`              // Coordinator
	Epoch             int64 `json:"epoch"`               // of this grant
	GrantedAtPosition int64 `json:"granted_at_position"` // this entry's own
}

// Renewed belongs to KindLeaseRenewed.
type Renewed struct {
	Epoch       int64 `json:"epoch"`
	TermSeconds int64 `json:"term_seconds"` // as it was handed off
	ExpiresAt   Time  `json:"expires_at"`   // not before the old one, at most a term from now, and not behind an activation deadline that is still ahead
}

// ReasonExpiry is the reason of a revocation because the lease had ended; nobody
// else's reason may be spelt so.
const ReasonExpiry = "expiry"

// Revoked belongs to KindLeaseRevoked. Right behind it the coordinator is granted
// the lease.
type Revoked struct {
	Epoch           int64  `json:"epoch"`            // the revoked one
	Reason          string `json:"reason"`           // ReasonExpiry, or By's words
	By              Actor  `json:"by"`               // Coordinator exactly for ReasonExpiry
	RenewedPosition int64  `json:"renewed_position"` // the renewal that it was decided from: State.RenewedPosition
}

// HandedOff belongs to KindLeaseHandedOff. Term, expiry and activation deadline
// are a principal's; the coordinator has none.
type HandedOff struct {
	From        Actor `json:"from"`
	To          Actor `json:"to"`    // Coordinator, or a principal
	Epoch       int64 `json:"epoch"` // the new one
	TermSeconds int64 `json:"term_seconds,omitzero"`
	ExpiresAt   Time  `json:"expires_at,omitzero"`  // at most a term from now
	ActivateBy  Time  `json:"activate_by,omitzero"` // not before ExpiresAt
}

// Activated belongs to KindLeaseActivated.
type Activated struct {
	Epoch            int64 `json:"epoch"`
	ReplayedPosition int64 `json:"replayed_position"` // from the handoff on
}

// Rejected belongs to KindAppendRejected: attempts to write that were refused.
type Rejected struct {
	Holder         Actor `json:"holder"`          // who presented the lease
	PresentedEpoch int64 `json:"presented_epoch"` // of the last attempt
	CurrentEpoch   int64 `json:"current_epoch"`   // that it met
	Count          int64 `json:"count"`           // from 1
	FirstAt        Time  `json:"first_at"`
	LastAt         Time  `json:"last_at"` // not before FirstAt
}

// Advice belongs to KindAdvice.
type Advice struct {
	Band   string `json:"band"`   // of heat
	Advise string `json:"advise"` // what the holder might do
}

// Retired belongs to KindWorldRetired: the world is deleted, its id used up.
type Retired struct{}

// The formats of payloads.
const (
	FormatJSON  = "json"  // one JSON value, in RFC 8785 form
	FormatBytes = "bytes" // any
)

// Written belongs to KindEntry.
type Written struct {
	Format string `json:"format"`
}

var errNotCanonical = errors.New("the details are not in canonical form")

// DetailsOf reads an entry's details. They must be those of T to the letter: in
// canonical form, with no member that T doesn't have.
func DetailsOf[T any](e *Entry) (T, error) {
	var details T
	if err := json.Unmarshal(e.Details, &details, json.RejectUnknownMembers(true)); err != nil {
		return details, err
	}
	canonical, err := Canonical(details)
	if err == nil && !bytes.Equal(canonical, e.Details) {
		err = errNotCanonical
	}
	return details, err
}
