package identity

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// An expired code is anybody's, whoever has it: its device, or an operation that is
// still under way.
func TestClaimOfAnExpiredCode_IsObsolete_WhoeverHasIt(t *testing.T) {
	t.Parallel()
	now := time.Now()
	later := now.Add(time.Minute)
	n := withCode("tv", RestoreUserCode("WDJBMJHT"))
	n.device.ExpiresAt = &later
	l := n.device.links()[0]
	for want, owner := range map[standing]*reading{
		held:      {device: n.device, now: now},
		undecided: {operation: &operation{state: prepared, deadline: later, newLinks: []link{l}}, now: now},
	} {
		c := claim{link: l}
		if got := c.judge(owner); got != want {
			t.Errorf("a claim that has not expired is %v, want %v", got, want)
		}
		c.expired = true
		if got := c.judge(owner); got != obsolete {
			t.Errorf("an expired one that would be %v is %v", want, got)
		}
	}
}

// Nobody needs to ask whoever had an expired code: its number may be away.
func TestExpiredCode_GoesToTheNextDevice_ThoughItsHolderCannotBeAsked(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	code := RestoreUserCode("WDJBMJHT")
	elsewhere := func(label string, than domain.Number) *newDevice {
		n := withCode(label, code)
		for n.actor = principalActor(d.scope); deviceRef(n.device.ID).Number == domain.NumberOf(code.Key()) || deviceRef(n.device.ID).Number == than; {
			n.device.ID = domain.NewID[domain.DeviceKind](time.Now())
		}
		return n
	}
	first := elsewhere("first", domain.NumberOf(code.Key()))
	away := deviceRef(first.device.ID).Number
	for _, n := range []*newDevice{first, elsewhere("second", away)} {
		if _, err := d.makeDevice(t.Context(), d.scope.Tenant, n); err != nil {
			t.Errorf("%s: %v", *n.device.Label, err)
		}
		d.expireCodes(t)
		d.everywhere(t, `UPDATE number_gates SET state = 'closed' WHERE number = $1`, int16(away))
	}
}
