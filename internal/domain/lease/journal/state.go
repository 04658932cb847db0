package journal

import (
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// State is what a journal comes to: where it ends, and who may write there.
type State struct {
	Position int64 // of the last entry; 0 before the first
	Epoch    int64
	Holder   Actor // nobody before the first entry, and between a revocation and its grant

	// Of a principal's lease; zero for the coordinator, whose lease has no end.
	TermSeconds int64
	ExpiresAt   time.Time // until it is activated, not behind ActivateBy
	ActivateBy  time.Time // kept when the lease is activated

	Activated bool // the coordinator always is

	GrantedPosition int64 // of the entry that made the holder the writer
	RenewedPosition int64 // of the last grant, handoff or renewal
	WrittenPosition int64 // of the last entry that a tenant wrote or that changed the writer

	Hash    Hash
	LastAt  time.Time // of the last entry; zero before the first
	Retired bool
}

// Begin is the state before the first entry.
func Begin(tenant domain.TenantID, world string) State {
	return State{Hash: Root(tenant, world)}
}

// Ended tells whether the lease in force has no power any more at a time: a
// principal's ends with the moment of its expiry, the coordinator's never.
func (s *State) Ended(at time.Time) bool {
	return !s.ExpiresAt.IsZero() && !at.Before(s.ExpiresAt)
}
