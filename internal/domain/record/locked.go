package record

import (
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain/lease"
)

// locked is a collection under its row's lock, with what decisions look at.
// Decisions look, and then write: to the records here, and by that to the rows.
// One decision sees what those before it in the transaction did.
type locked struct {
	collection
	stood      collection // as it was found
	now        time.Time  // behind the lock
	held       *lease.Held
	limits     Limits
	rehearsing bool // nothing will be written

	tuples   map[string]*tuple        // by key; those that exist
	claims   map[string]*itemClaim    // by key; those that are there, also when their time is over
	receipts map[string]storedReceipt // by operation id
	fences   map[string]*standingFence
	batches  map[string]*batch

	newReceipts []string // operation ids
}

func newLocked() *locked {
	return &locked{
		tuples: map[string]*tuple{}, claims: map[string]*itemClaim{}, receipts: map[string]storedReceipt{},
		fences: map[string]*standingFence{}, batches: map[string]*batch{},
	}
}

// tuple is a record that a decision may change.
type tuple struct {
	key                  string
	revision, stood      int64 // now, and as it was found; 0 for a new one
	live                 bool
	createdAt, updatedAt time.Time
	sections             map[string]*slot // by name; those that exist
}

// slot is a section, and what the database has of it.
type slot struct {
	Section
	stood Section // its place's format is 0 for a new one
	body  []byte  // that goes to SQL; nil for one that doesn't
}

// changed tells that the section's row must be written.
func (s *slot) changed() bool { return s.Sequence != s.stood.Sequence }

// standingFence is the newest publication under a fence key.
type standingFence struct {
	revision int64
	item     string
	content  [32]byte
	changed  bool
}
