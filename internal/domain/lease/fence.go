package lease

import (
	"crypto/sha256"
	"crypto/subtle"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

// Authority is a lease as a writer presents it: the epoch, and the secret that the
// grant told once.
type Authority struct {
	Epoch  int64
	Secret string
}

func (w *locked) errFenced() *domain.Error {
	return domain.Conflict("fenced",
		"What was presented isn't the lease in force. Stop writing, and read the journal from its last lease entry on.").
		With("epoch", w.Epoch).With("holder", w.Holder)
}

func (w *locked) errNoLease() *domain.Error {
	return domain.Conflict("fenced",
		"A node has the lease of this world, and the request presents none. The node's own requests carry it in Holdfast-Lease; nobody else can write now.").
		With("epoch", w.Epoch).With("holder", w.Holder)
}

func (w *locked) errExpired() *domain.Error {
	return domain.Conflict("lease_expired",
		"The lease has ended. Discard what isn't journaled, acquire the lease again, and replay the journal.").
		With("epoch", w.Epoch).With("holder", w.Holder)
}

func (w *locked) errNotActivated() *domain.Error {
	return domain.Conflict("lease_not_activated",
		"The lease isn't activated yet. Replay the journal through the handoff, and activate it.").
		With("epoch", w.Epoch)
}

// holds tells whether the caller is the holder and presents its lease: the only
// predicate that a holder is known by.
func (w *locked) holds(caller journal.Actor, a *Authority) error {
	switch {
	case a == nil:
		return w.errNoLease()
	case w.Holder.IsCoordinator() && a.Epoch == w.expiredEpoch && a.Epoch == w.Epoch-1:
		return w.errExpired()
	case a.Epoch != w.Epoch, caller != w.Holder, !w.opens(a.Secret):
		return w.errFenced()
	}
	return nil
}

// fence is the one predicate for every write to a world: an append, and a
// publication to a record that is bound to it. Whoever calls it has settled.
func (w *locked) fence(caller journal.Actor, a *Authority) error {
	if w.Holder.IsCoordinator() && a == nil {
		return nil // hosted: any client with the scope writes through the coordinator
	}
	if err := w.holds(caller, a); err != nil {
		return err
	}
	if !w.Activated {
		return w.errNotActivated()
	}
	return nil
}

func (w *locked) opens(secret string) bool {
	return w.secretHash != nil && subtle.ConstantTimeCompare(hashSecret(secret), w.secretHash) == 1
}

func hashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
