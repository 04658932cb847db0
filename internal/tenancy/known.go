package tenancy

import (
	"maps"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// remembered is how long a process holds a revocation against tokens: longer
// than any token lives after its key was last looked at, by enough for clocks
// that lie apart.
const remembered = time.Hour

// known is what a process knows of revocations at one time. It never changes;
// each poll makes the next.
type known struct {
	at       time.Time // when the poll that read it began
	sequence int64     // it holds every revocation up to here

	keys       map[domain.KeyID]time.Time // and when it was revoked
	principals map[domain.PrincipalID]time.Time
	issuers    map[IssuerID]time.Time
	// A tenant, a client or an issuer that was read before the sequence here, or before the
	// floor, must be read again.
	changed map[[16]byte]touch // by its id
	floor   int64
}

type touch struct {
	sequence int64
	at       time.Time
}

// next is what is known after a poll that began at a time, read these
// revocations, and so reaches up to a sequence.
func (k *known) next(at time.Time, revoked []revocation, upTo int64) *known {
	if k == nil {
		k = &known{}
	}
	n := *k
	n.at = at
	if upTo == k.sequence {
		return &n
	}
	n.sequence = upTo
	n.forget(at)
	for _, r := range revoked {
		switch r.Kind {
		case revokedKey:
			n.keys[r.Subject] = r.At
		case revokedPrincipal:
			n.principals[r.Subject] = r.At
		case revokedIssuer:
			n.issuers[r.Subject] = r.At
			n.changed[r.Subject] = touch{r.Sequence, r.At}
		case revokedTenant, revokedClient:
			n.changed[r.Subject] = touch{r.Sequence, r.At}
		default:
			// A newer process wrote it, of something that this one may know by
			// another name.
			n.floor = r.Sequence
		}
	}
	if int64(len(revoked)) != upTo-k.sequence {
		// Some were deleted before this process saw them: it was away for so long
		// that no token of then lives, but what it read may be out of date.
		n.floor = upTo
	}
	return &n
}

// forget gives n maps of its own, without what is too old to matter. What it
// drops of the changed stays out of date by the floor.
func (n *known) forget(now time.Time) {
	tooOld := func(at time.Time) bool { return now.Sub(at) > remembered }
	keys, principals, issuers, changed := n.keys, n.principals, n.issuers, n.changed
	n.keys, n.principals, n.issuers, n.changed = map[domain.KeyID]time.Time{}, map[domain.PrincipalID]time.Time{}, map[IssuerID]time.Time{}, map[[16]byte]touch{}
	maps.Copy(n.keys, keys)
	maps.Copy(n.principals, principals)
	maps.Copy(n.issuers, issuers)
	maps.Copy(n.changed, changed)
	maps.DeleteFunc(n.keys, func(_ domain.KeyID, at time.Time) bool { return tooOld(at) })
	maps.DeleteFunc(n.principals, func(_ domain.PrincipalID, at time.Time) bool { return tooOld(at) })
	maps.DeleteFunc(n.issuers, func(_ IssuerID, at time.Time) bool { return tooOld(at) })
	maps.DeleteFunc(n.changed, func(_ [16]byte, t touch) bool {
		if tooOld(t.at) {
			n.floor = max(n.floor, t.sequence)
		}
		return tooOld(t.at)
	})
}

// revoked tells that the token's key, principal or issuer has ended.
func (k *known) revoked(s Scope) bool {
	_, key := k.keys[s.Key]
	_, principal := k.principals[s.Principal]
	return key || principal || k.distrusts(s)
}

// distrusts tells that the trust has ended by which an issuer's token was accepted.
func (k *known) distrusts(s Scope) bool {
	_, ended := k.issuers[s.External.Trust]
	return ended
}

// current tells that nothing happened to the tenant, client or issuer of that id since
// it was read by a process that knew of everything up to a sequence.
func (k *known) current(id [16]byte, sequence int64) bool {
	return sequence >= k.floor && sequence >= k.changed[id].sequence
}
