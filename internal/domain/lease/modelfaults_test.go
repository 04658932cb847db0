package lease

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// fault takes a guard out of the decisions by lying to them: what the guard would
// ask is always as it wants it. The zero set is no lie.
type fault uint

const (
	// forgetsEpoch takes every lease for one of the epoch in force.
	forgetsEpoch fault = 1 << iota
	// forgetsSecret takes every secret for the one of the lease in force.
	forgetsSecret
	// forgetsPrincipal takes everybody for the holder.
	forgetsPrincipal
	// forgetsExpiry never finds a lease's time to be over.
	forgetsExpiry
	// forgetsActivation takes every lease for activated.
	forgetsActivation
	// forgetsReplay takes every hash for the handoff's.
	forgetsReplay
	// forgetsRenewal takes what was looked at for the last renewal.
	forgetsRenewal
	// forgetsLook takes whatever was looked at for the lease in force.
	forgetsLook
	// forgetsIDs finds no entry by its id.
	forgetsIDs
	// forgetsRequest doesn't know by which request the holder got its lease.
	forgetsRequest
	// forgetsLine finds nobody in line.
	forgetsLine
	// forgetsGone finds everybody in line alive.
	forgetsGone
	// forgetsEvidence rolls back with a refusal.
	forgetsEvidence
	// forgetsCounts finds nothing counted beside the head.
	forgetsCounts
	// forgetsLock decides on a head that was read before.
	forgetsLock

	everyFault fault = 1<<iota - 1
)

// backed are guards that others back.
//
//   - The epoch: each has a secret of its own, so a lease of another epoch is
//     refused for its secret. Whoever takes out this guard must be found by a test
//     that presents the secret in force under another epoch.
const backed = forgetsEpoch

func (m *model) has(f fault) bool { return m.faults&f != 0 }
func (b *bench) has(f fault) bool { return b.faults&f != 0 }

// lie changes what decisions see, and gives what undoes it before it is kept.
func (b *bench) lie(w *locked) (truth func()) {
	if b.has(forgetsExpiry) && w.over() {
		w.now = w.ExpiresAt.Add(-time.Microsecond)
	}
	if b.has(forgetsIDs) {
		clear(w.known)
	}
	if b.has(forgetsRequest) {
		w.requestID = "forgotten"
	}
	if b.has(forgetsLine) {
		w.waiters = nil
	}
	for i := range w.waiters {
		if b.has(forgetsGone) {
			w.waiters[i].aliveUntil = w.now.Add(time.Microsecond)
		}
	}
	if b.has(forgetsCounts) {
		clear(w.rejections)
	}
	if b.has(forgetsActivation) && b.doing != activates && !w.Activated {
		epoch := w.Epoch
		w.Activated = true
		return func() { w.Activated = w.Epoch != epoch && w.Holder.IsCoordinator() }
	}
	return func() {}
}

// disguise changes what a caller presents.
func (b *bench) disguise(scope tenancy.Scope, a Authority) (tenancy.Scope, Authority) {
	h := &b.world.head
	if h.Holder.IsCoordinator() || b.doing == acquires || b.doing == appendsHosted {
		return scope, a
	}
	w := locked{head: *h}
	if b.has(forgetsEpoch) {
		a.Epoch = h.Epoch
	}
	if b.has(forgetsSecret) {
		secret, _ := b.secrets.Derive(w.secretParts(b.tenant)...)
		a.Secret = secretText(secret)
	}
	if b.has(forgetsPrincipal) {
		scope = b.scope(b.nodeOf(h.Holder))
	}
	return scope, a
}

func TestModel_FindsEachFault(t *testing.T) {
	t.Parallel()
	covered := backed
	for _, tt := range []struct {
		name   string
		faults fault
		in     model
		breaks rule
	}{
		{"no secret asked for", forgetsSecret, passing(), inForce},
		{"no epoch asked for, nor a secret", forgetsEpoch | forgetsSecret, passing(), oneWriter},
		{"nobody's name asked for, nor a lease", forgetsEpoch | forgetsSecret | forgetsPrincipal, passing(), inForce},
		{"lease without an end", forgetsExpiry, passing(), inForce},
		{"renewal of a lease that is over", forgetsExpiry, passing(), term},
		{"no activation asked for", forgetsActivation, passing(), inForce},
		{"any hash good enough", forgetsReplay, passing(), proven},
		{"revocation of what was renewed since", forgetsRenewal, passing(), fromLook},
		{"revocation of whatever there is", forgetsLook, passing(), fromLook},
		{"entry id not looked up", forgetsIDs, passing(), onceOnly},
		{"request not remembered", forgetsRequest, passing(), sameLease},
		{"line not looked at", forgetsLine, waiting(), inTurn},
		{"line with those that have gone", forgetsGone, waiting(), inTurn},
		{"refusal rolled back", forgetsEvidence, counting(), counted},
		{"counts not looked at", forgetsCounts, counting(), seldom},
		{"head not locked", forgetsLock, passing(), asReplayed},
	} {
		covered |= tt.faults
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := tt.in
			m.faults = tt.faults
			f := m.search(t, tt.breaks)
			if f.broken == nil {
				t.Fatalf("not found in %d states", f.states)
			}
			t.Log(f.broken)
		})
	}
	if covered != everyFault {
		t.Errorf("no test takes out these guards: %b", everyFault&^covered)
	}
}

func TestModel_SparesGuardsThatOthersBack(t *testing.T) {
	t.Parallel()
	m := passing()
	m.faults = backed
	switch f := m.search(t, ""); {
	case f.broken != nil:
		t.Error(f.broken)
	case !f.exhausted:
		t.Errorf("not exhausted after %d states", f.states)
	}
}
