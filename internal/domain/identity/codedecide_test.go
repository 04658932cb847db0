package identity

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func TestUserCode_IsReadAsPeopleTypeIt(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada := d.create(t, "ada", "")
	held := d.holdCode(t, "tv", RestoreUserCode("WDJBMJHT"))
	for _, typed := range []string{"WDJB-MJHT", " wdjb mjht ", "WDJB–MJHT", "wdjbmjht", "W.D.J.B.M.J.H.T", "aWeDiJoB-uMyJ0H1T"} {
		found, err := d.LookupCode(t.Context(), d.scope, CodeGuess{typed, ada.ID})
		if err != nil || found.ID != held.ID {
			t.Errorf("%q leads to %v, %v", typed, found.ID, err)
		}
	}
	for _, typed := range []string{"", "WDJB", "WDJBMJHTT", "\x00WDJBMJHT", "12345678"} {
		_, err := d.LookupCode(t.Context(), d.scope, CodeGuess{typed, ada.ID})
		if expectCode(t, err, domain.KindInvalid, "user_code_invalid"); t.Failed() {
			t.Errorf("for %q", typed)
		}
	}
	if n, m := d.charged(t, ada.ID); n+m > 0 {
		t.Errorf("%d and %d guesses are charged, and none was wrong", n, m)
	}
}

func TestApprove_ByItsAccountOnceAndAgain(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, bob := d.create(t, "ada", ""), d.create(t, "bob", "")
	device := d.authorize(t, d.client(), "tv")
	first := d.approve(t, device, ada)
	if first.Status != DeviceApproved || first.Account != ada.ID || first.Revision != 2 || first.ApprovedAt == nil {
		t.Errorf("approved: %+v", first)
	}
	if again := d.approve(t, device, ada); again.Revision != 2 {
		t.Errorf("approved again: %+v", again)
	}
	if found, err := d.LookupCode(t.Context(), d.scope, d.guessOf(device, ada)); err != nil || found.Revision != 2 {
		t.Errorf("looked up by its account: %+v, %v", found, err)
	}
	for name, call := range d.codeCalls() {
		if _, err := call(t.Context(), d.scope, d.guessOf(device, bob)); err != errDecided {
			t.Errorf("%s by another account: %v, want %v", name, err, errDecided)
		}
	}
	_, err := d.DenyDevice(t.Context(), d.scope, d.guessOf(device, ada))
	expectCode(t, err, domain.KindConflict, "device_decided")
	d.expectState(t, state{
		Accounts: []string{"ada - active rev 1", "bob - active rev 1"},
		Devices:  []string{"tv approved rev 2 of ada"},
		Links:    []string{"ada to tv"},
		Claims:   []string{"device-code code of tv", "handle ada of ada", "handle bob of bob"},
		Events: []string{
			"ada 1 account.created by principal [handle]",
			"bob 1 account.created by principal [handle]",
			"tv 1 device.created by client [client_id label status]",
			"tv 2 device.approved by principal [account_id status]",
		},
	})
	d.expectNothingCharged(t)
}

func (d *directory) codeCalls() map[string]func(context.Context, tenancy.Scope, CodeGuess) (Device, error) {
	return map[string]func(context.Context, tenancy.Scope, CodeGuess) (Device, error){
		"LookupCode": d.LookupCode, "ApproveDevice": d.ApproveDevice, "DenyDevice": d.DenyDevice,
	}
}

// expectNothingCharged says that every guess was right, and has been refunded.
func (d *directory) expectNothingCharged(t testing.TB) {
	t.Helper()
	for _, g := range d.guessRows(t) {
		if g.tenant == d.scope.Tenant && len(g.at) > 0 {
			t.Errorf("%d guesses of %s stay charged", len(g.at), g.subject)
		}
	}
}

func TestDeny_TurnsTheDeviceAwayForEverybody(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, bob, client := d.create(t, "ada", ""), d.create(t, "bob", ""), d.client()
	device := d.authorize(t, client, "tv")
	for _, account := range []Account{ada, bob} { // and again, by whomever
		denied, err := d.DenyDevice(t.Context(), d.scope, d.guessOf(device, account))
		if err != nil || denied.Status != DeviceDenied || denied.Revision != 2 || !denied.Account.IsZero() {
			t.Errorf("denied: %+v, %v", denied, err)
		}
	}
	for _, account := range []Account{ada, bob} {
		_, err := d.ApproveDevice(t.Context(), d.scope, d.guessOf(device, account))
		expectCode(t, err, domain.KindConflict, "device_decided")
		_, err = d.LookupCode(t.Context(), d.scope, d.guessOf(device, account))
		expectCode(t, err, domain.KindConflict, "device_decided")
	}
	_, err := d.poll(t.Context(), client, device)
	expectGrant(t, err, tenancy.GrantAccessDenied)
	d.expireCodes(t)
	_, err = d.poll(t.Context(), client, device)
	expectGrant(t, err, tenancy.GrantAccessDenied) // which it is, before it is expired
	d.expectState(t, state{
		Accounts: []string{"ada - active rev 1", "bob - active rev 1"},
		Devices:  []string{"tv denied rev 2"},
		Claims:   []string{"device-code code of tv", "handle ada of ada", "handle bob of bob"},
		Events: []string{
			"ada 1 account.created by principal [handle]",
			"bob 1 account.created by principal [handle]",
			"tv 1 device.created by client [client_id label status]",
			"tv 2 device.denied by principal [status]",
		},
	})
	d.expectNothingCharged(t)
}

func TestExpiredCode_IsAsUnknownAsAWrongOne(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada := d.create(t, "ada", "")
	device := d.authorize(t, d.client(), "tv")
	d.expireCodes(t)
	before := d.state(t)
	for name, call := range d.codeCalls() {
		for _, code := range []string{device.UserCode.String(), wrongCode(device)} {
			if _, err := call(t.Context(), d.scope, CodeGuess{code, ada.ID}); err != errNoCode {
				t.Errorf("%s of %s: %v, want %v", name, code, err, errNoCode)
			}
		}
	}
	d.expectState(t, before)
	if n, m := d.charged(t, ada.ID); n != 6 || m != 6 {
		t.Errorf("%d and %d guesses are charged, want all six", n, m)
	}
}

func TestCode_OfAClaimThatItsDeviceDoesNotHold_LeadsNowhere(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada := d.create(t, "ada", "")
	device := d.holdCode(t, "tv", RestoreUserCode("WDJBMJHT"))
	for code, token := range map[string]domain.Token{"BCDFGHJK": device.userCodeToken, "BBBBBBBB": domain.RandomID[domain.TokenKind]()} {
		stray := &claiming{owner: deviceRef(device.ID), link: linkTo(domain.FamilyDeviceCode, code, token), until: device.ExpiresAt}
		db := d.router.Database(stray.link.Number)
		if err := d.claimAll(t.Context(), db, d.scope.Tenant, []*claiming{stray}); err != nil || !stray.granted {
			t.Fatalf("granted %v, %v", stray.granted, err)
		}
		_, err := d.LookupCode(t.Context(), d.scope, CodeGuess{code, ada.ID})
		expectCode(t, err, domain.KindNotFound, "user_code_not_found")
	}
	d.sweepAll(t)
	d.checkInvariants(t, true)
}

// The device's own clock decides: a claim that another database still holds for
// good leads to nothing once the device has expired, and the other way round.
func TestExpiredCode_ByEitherClock(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada := d.create(t, "ada", "")
	for _, table := range []string{"devices", "claims"} {
		device := d.authorize(t, d.client(), table)
		d.everywhere(t, `UPDATE `+table+` SET expires_at = expires_at - interval '1 hour'`)
		_, err := d.LookupCode(t.Context(), d.scope, d.guessOf(device, ada))
		expectCode(t, err, domain.KindNotFound, "user_code_not_found")
	}
}

func TestDisabledAccount_DecidesNothing(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada := d.create(t, "ada", "")
	device := d.authorize(t, d.client(), "tv")
	d.setStatus(t, ada, Disabled)
	before := d.state(t)
	for name, call := range d.codeCalls() {
		if _, err := call(t.Context(), d.scope, d.guessOf(device, ada)); err != errAccountDisabled {
			t.Errorf("%s: %v, want %v", name, err, errAccountDisabled)
		}
	}
	d.expectState(t, before)
	d.expectNothingCharged(t)
}

func TestOneOfManyDecisions_Stands(t *testing.T) {
	t.Parallel()
	decisionRace(t, newDirectory(t, Options{}))
}

// decisionRace lets four accounts approve and deny one device at once. (Each has
// fewer guesses than would limit it.)
func decisionRace(t *testing.T, d *directory) {
	device := d.authorize(t, d.client(), "tv")
	accounts := make([]Account, 4)
	for i := range accounts {
		accounts[i] = d.create(t, numbered("racer-%d", i), "")
	}
	var approved, denied atomic.Int32
	var winner atomic.Pointer[domain.AccountID]
	errs := atOnce(16, func(i int) error {
		account := accounts[i/4]
		if i%4 == 0 {
			_, err := d.DenyDevice(t.Context(), d.scope, d.guessOf(device, account))
			if err == nil {
				denied.Add(1)
			}
			return err
		}
		got, err := d.ApproveDevice(t.Context(), d.scope, d.guessOf(device, account))
		if err != nil {
			return err
		}
		approved.Add(1)
		if before := winner.Swap(&account.ID); got.Account != account.ID || before != nil && *before != account.ID {
			t.Errorf("approved for %v too: %+v", account.ID, got)
		}
		return nil
	})
	for _, err := range errs {
		if err != nil {
			expectCode(t, err, domain.KindConflict, "device_decided")
		}
	}
	now, err := d.GetDevice(t.Context(), d.scope, device.ID)
	if err != nil || now.Revision != 2 || (approved.Load() > 0) == (denied.Load() > 0) ||
		(now.Status == DeviceApproved) != (approved.Load() > 0) {
		t.Errorf("%d approved, %d denied, and the device is %+v, %v", approved.Load(), denied.Load(), now, err)
	}
	d.expectNothingCharged(t)
	d.checkInvariants(t, true)
}
