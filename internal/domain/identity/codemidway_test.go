package identity

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// What happens between an approval's link and its device's commit.

func TestApprovalThatDied_ShowsNothing_AndCanBeDoneAgain(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, bob, client := d.create(t, "ada", ""), d.create(t, "bob", ""), d.client()
	decisions := map[string]func(CreatedDevice) (Device, error){
		"the same account's approval": func(c CreatedDevice) (Device, error) { return d.ApproveDevice(t.Context(), d.scope, d.guessOf(c, ada)) },
		"another account's approval":  func(c CreatedDevice) (Device, error) { return d.ApproveDevice(t.Context(), d.scope, d.guessOf(c, bob)) },
		"a denial":                    func(c CreatedDevice) (Device, error) { return d.DenyDevice(t.Context(), d.scope, d.guessOf(c, ada)) },
	}
	for name, decide := range decisions {
		device := d.authorize(t, client, name)
		dying := d.with(Options{Faults: &crashAt{point: "device linked", nth: 1}})
		if _, err := dying.ApproveDevice(t.Context(), d.scope, d.guessOf(device, ada)); !stopped(err) {
			t.Fatal(err)
		}
		now, err := d.GetDevice(t.Context(), d.scope, device.ID)
		if err != nil || now.Status != DevicePending || now.Revision != 1 {
			t.Errorf("%s: the device is %+v, %v", name, now, err)
		}
		_, err = d.poll(t.Context(), client, device)
		expectGrant(t, err, tenancy.GrantAuthorizationPending)
		if decided, err := decide(device); err != nil || decided.Revision != 2 {
			t.Errorf("%s: %+v, %v", name, decided, err)
		}
	}
	if got := d.labels(t, ada, nil, 10); len(got) != 1 || got[0] != "the same account's approval" {
		t.Errorf("ada has %v", got)
	}
	d.expectNothingCharged(t)
	d.checkInvariants(t, true)
}

// An approval whose link is there, from one that died, dates it anew: a cleanup
// that has found the old one leaves it alone.
func TestLinkInDoubt_IsDatedAnewByTheNextApproval(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada := d.create(t, "ada", "")
	device := d.authorize(t, d.client(), "tv")
	linked := func() time.Time {
		dying := d.with(Options{Faults: &crashAt{point: "device linked", nth: 1}})
		if _, err := dying.ApproveDevice(t.Context(), d.scope, d.guessOf(device, ada)); !stopped(err) {
			t.Fatal(err)
		}
		return slices.MaxFunc(collect(t, d, `SELECT created_at FROM account_devices`, pgx.RowTo[time.Time]), time.Time.Compare)
	}
	if first, second := linked(), linked(); !second.After(first) {
		t.Errorf("linked at %v, and again at %v", first, second)
	}
}

func TestApproval_MeetsAChangeMidway(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	bob := d.create(t, "bob", "")
	var device CreatedDevice // that the approval is under way for
	var ada Account          // the account that approves it
	tests := []struct {
		name  string
		act   func()
		err   *domain.Error
		state string
	}{
		{"its denial", func() { d.DenyDevice(t.Context(), d.scope, d.guessOf(device, bob)) }, errDecided, "denied rev 2"},
		{"another account's approval", func() { d.approve(t, device, bob) }, errDecided, "approved rev 2 of bob"},
		{"its revocation", func() { d.RevokeDevice(t.Context(), d.scope, device.ID, 1) }, errDecided, "revoked rev 2"},
		{"the end of its code", func() { d.expireCodes(t) }, errNoCode, "pending rev 1"},
		{"its removal", func() { d.everywhere(t, `DELETE FROM devices WHERE device_id = $1`, device.ID) }, errNoCode, ""},
		{"the same account's approval", func() { d.approve(t, device, ada) }, nil, "approved rev 2 of "},
		{"a change of its label", func() { d.PatchDevice(t.Context(), d.scope, device.ID, 1, DevicePatch{}) }, nil, "approved rev 3 of "},
		{"the account's deletion", func() { d.Delete(t.Context(), d.scope, ada.ID, 1) }, errNoAccount, "revoked rev 3 of "},
		{"the account's suspension", func() { d.setStatus(t, ada, Disabled) }, nil, "approved rev 2 of "},
	}
	for i, test := range tests {
		ada = d.create(t, numbered("ada-%d", i), "")
		device = d.authorize(t, d.client(), numbered("tv-%d", i))
		slow := d.with(Options{Faults: &pauseAt{point: "device linked", act: test.act}})
		got, err := slow.ApproveDevice(t.Context(), d.scope, d.guessOf(device, ada))
		if (test.err == nil) != (err == nil) || test.err != nil && err != test.err {
			t.Errorf("%s: %v, want %v", test.name, err, test.err)
		}
		if err == nil && (got.ID != device.ID || got.Account != ada.ID) {
			t.Errorf("%s: approved %+v", test.name, got)
		}
		want := numbered("tv-%d ", i) + test.state
		if test.state != "" && test.state[len(test.state)-1] == ' ' {
			want += ada.Handle.Key()
		}
		if now := d.deviceLine(t, device.ID); test.state != "" && now != want {
			t.Errorf("%s: the device is %q, want %q", test.name, now, want)
		}
	}
	d.expectNothingCharged(t)
}

func TestDenial_MeetsAChangeMidway(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, bob := d.create(t, "ada", ""), d.create(t, "bob", "")
	var device CreatedDevice // that the denial is under way for
	tests := []struct {
		name  string
		act   func()
		err   error
		state string
	}{
		{"an approval", func() { d.approve(t, device, bob) }, errDecided, "approved rev 2 of bob"},
		{"its revocation", func() { d.RevokeDevice(t.Context(), d.scope, device.ID, 1) }, errDecided, "revoked rev 2"},
		{"the end of its code", func() { d.expireCodes(t) }, errNoCode, "pending rev 1"},
		{"its removal", func() { d.everywhere(t, `DELETE FROM devices WHERE device_id = $1`, device.ID) }, errNoCode, ""},
		{"another denial", func() { d.DenyDevice(t.Context(), d.scope, d.guessOf(device, bob)) }, nil, "denied rev 2"},
	}
	for _, test := range tests {
		device = d.authorize(t, d.client(), test.name)
		slow := d.with(Options{Faults: &pauseAt{point: "guess judged", act: test.act}})
		if _, err := slow.DenyDevice(t.Context(), d.scope, d.guessOf(device, ada)); err != test.err {
			t.Errorf("%s: %v, want %v", test.name, err, test.err)
		}
		if now := d.deviceLine(t, device.ID); test.state != "" && now != test.name+" "+test.state {
			t.Errorf("%s: the device is %q", test.name, now)
		}
	}
	d.expectNothingCharged(t)
}

// What happens to the account before its link: the approval goes no further, and
// the guess, which was right, costs nothing.
func TestApproval_OfAnAccountThatChangesBeforeItsLink(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	for i, want := range []error{errNoAccount, errAccountDisabled} {
		ada := d.create(t, numbered("ada-%d", i), "")
		device := d.authorize(t, d.client(), numbered("tv-%d", i))
		act := func() { d.Delete(t.Context(), d.scope, ada.ID, 1) }
		if want == errAccountDisabled {
			act = func() { d.setStatus(t, ada, Disabled) }
		}
		slow := d.with(Options{Faults: &pauseAt{point: "guess judged", act: act}})
		if _, err := slow.ApproveDevice(t.Context(), d.scope, d.guessOf(device, ada)); err != want {
			t.Errorf("got %v, want %v", err, want)
		}
		if now := d.deviceLine(t, device.ID); now != numbered("tv-%d pending rev 1", i) {
			t.Errorf("the device is %q", now)
		}
	}
	if links := d.linkRows(t); len(links) > 0 {
		t.Errorf("%d links were made", len(links))
	}
	d.expectNothingCharged(t)
}

// deviceLine is a device's line in the state.
func (d *directory) deviceLine(t testing.TB, id domain.DeviceID) string {
	t.Helper()
	label := "-"
	for _, device := range d.deviceRows(t) {
		if device.ID == id {
			label = orDash(orZero(device.Label))
		}
	}
	for _, line := range d.state(t).Devices {
		if len(line) > len(label) && line[:len(label)+1] == label+" " {
			return line
		}
	}
	return ""
}

// A deleted account never returns. Its devices get nothing from then on, however
// the approval died.
func TestDeletedAccount_NeverHasADeviceThatGetsAnything(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	client := d.client()
	for i, point := range []string{"device linked", "device approved", "nowhere"} {
		ada := d.create(t, numbered("ada-%d", i), "")
		device := d.authorize(t, client, point)
		dying := d.with(Options{Faults: &crashAt{point: point, nth: 1}})
		if _, err := dying.ApproveDevice(t.Context(), d.scope, d.guessOf(device, ada)); (err == nil) != (point == "nowhere") {
			t.Fatal(err)
		}
		if err := d.Delete(t.Context(), d.scope, ada.ID, 1); err != nil {
			t.Fatal(err)
		}
		want := tenancy.GrantInvalidGrant
		if point == "device linked" {
			want = tenancy.GrantAuthorizationPending // it is nobody's, and somebody else's to approve
		}
		for range 2 {
			_, err := d.poll(t.Context(), client, device)
			expectGrant(t, err, want)
			d.passTime(t, PollInterval)
		}
		line := map[string]string{"device linked": "device linked pending rev 1"}[point]
		if line == "" {
			line = point + " revoked rev 3 of " + ada.Handle.Key()
		}
		if now := d.deviceLine(t, device.ID); now != line {
			t.Errorf("the device is %q, want %q", now, line)
		}
	}
	theirs := d.create(t, "grace", "")
	device := d.authorize(t, client, "theirs")
	d.approve(t, device, theirs)
	if err := d.revokeOrphan(t.Context(), d.scope.Tenant, device.ID, domain.RandomID[domain.AccountKind]()); err != nil {
		t.Error(err)
	}
	if _, err := d.poll(t.Context(), client, device); err != nil {
		t.Errorf("a device that has become another account's: %v", err)
	}
	for _, e := range d.eventRows(t) {
		if e.Kind == DeviceWasRevoked && e.Actor != (Actor{Kind: ActorHoldfast}) {
			t.Errorf("revoked by %+v, want Holdfast", e.Actor)
		}
	}
	d.checkInvariants(t, true)
}
