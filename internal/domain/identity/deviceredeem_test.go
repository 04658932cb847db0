package identity

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestRedeem_OneOfTwentyPolls(t *testing.T) {
	t.Parallel()
	redeemRace(t, newDirectory(t, Options{}))
}

func redeemRace(t *testing.T, d *directory) {
	ada, client := d.create(t, "ada", ""), d.client("watch")
	device := d.authorize(t, client, "tv")
	d.approve(t, device, ada)
	all := make([]Redeemed, 20)
	won := -1
	for i, err := range atOnce(len(all), func(i int) (err error) {
		all[i], err = d.poll(t.Context(), client, device)
		return err
	}) {
		switch {
		case err != nil:
			expectGrant(t, err, tenancy.GrantInvalidGrant)
		case won >= 0:
			t.Errorf("redeemed twice: %+v and %+v", all[won], all[i])
		default:
			won = i
		}
	}
	if won < 0 {
		t.Fatal("nobody redeemed the code")
	}
	if now := d.deviceLine(t, device.ID); now != "tv approved rev 3 of ada, redeemed, token 1" {
		t.Errorf("the device is %q", now)
	}
	if _, err := d.refresh(t.Context(), client, all[won].RefreshToken); err != nil {
		t.Errorf("the winner's token: %v", err)
	}
	d.checkInvariants(t, true)
}

// A disabled account's device gets nothing until the account is active again.
func TestRedeem_OfADisabledAccount(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, client := d.create(t, "ada", ""), d.client()
	device := d.authorize(t, client, "tv")
	d.approve(t, device, ada)
	d.setStatus(t, ada, Disabled)
	before := d.state(t)
	for range 2 {
		_, err := d.poll(t.Context(), client, device)
		expectGrant(t, err, tenancy.GrantInvalidGrant)
	}
	d.expectState(t, before)
	d.setStatus(t, ada, Active)
	if _, err := d.poll(t.Context(), client, device); err != nil {
		t.Errorf("active again: %v", err)
	}
}

// What happens between the look at the account and the redemption.
func TestRedeem_MeetsAChangeMidway(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, bob, client := d.create(t, "ada", ""), d.create(t, "bob", ""), d.client()
	var device CreatedDevice
	tests := map[string]struct {
		act   func()
		want  string
		state string
	}{
		"redeemed": {func() { d.poll(t.Context(), client, device) }, tenancy.GrantInvalidGrant, "approved rev 3 of ada, redeemed, token 1"},
		"revoked":  {func() { d.RevokeDevice(t.Context(), d.scope, device.ID, 2) }, tenancy.GrantInvalidGrant, "revoked rev 3 of ada"},
		"expired":  {func() { d.expireCodes(t) }, tenancy.GrantExpiredToken, "approved rev 2 of ada"},
		"removed":  {func() { d.everywhere(t, `DELETE FROM devices WHERE device_id = $1`, device.ID) }, tenancy.GrantInvalidGrant, ""},
		"another's": {func() { d.everywhere(t, `UPDATE devices SET account_id = $1 WHERE device_id = $2`, bob.ID, device.ID) },
			tenancy.GrantInvalidGrant, "approved rev 2 of bob"}, // whom nobody has asked
		"relabelled": {func() {
			label := "relabelled"
			set := &label
			d.PatchDevice(t.Context(), d.scope, device.ID, 2, DevicePatch{Label: &set})
		}, "", "approved rev 4 of ada, redeemed, token 1"},
	}
	for name, test := range tests {
		device = d.authorize(t, client, name)
		d.approve(t, device, ada)
		slow := d.with(Options{Faults: &pauseAt{point: "device redeemable", act: test.act}})
		got, err := slow.poll(t.Context(), client, device)
		if grantCode(err) != test.want || (err == nil) != (test.want == "") || (got.RefreshToken == "") != (err != nil) {
			t.Errorf("%s: %+v, %v, want %q", name, got, err, test.want)
		}
		if now := d.deviceLine(t, device.ID); test.state != "" && now != name+" "+test.state {
			t.Errorf("%s: the device is %q", name, now)
		}
	}
}

func TestRedeem_GrantsWhatTheClientMayHave(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, client := d.create(t, "ada", ""), d.client("play", "watch")
	scopes := func(asked ...string) []string {
		device, err := d.AuthorizeDevice(t.Context(), client, AuthorizeDevice{Scopes: asked})
		if err != nil {
			t.Fatal(err)
		}
		d.approve(t, device, ada)
		narrower := client
		narrower.Scopes = client.Scopes[1:]
		got, err := d.poll(t.Context(), narrower, device)
		if err != nil {
			t.Fatal(err)
		}
		return got.Scopes
	}
	for _, test := range []struct{ asked, want []string }{
		{nil, []string{"watch"}}, {[]string{"watch"}, []string{"watch"}}, {[]string{"play"}, []string{}},
	} {
		if diff := cmp.Diff(test.want, scopes(test.asked...)); diff != "" {
			t.Errorf("asked for %v (-want +got)\n%s", test.asked, diff)
		}
	}
}

// The commits of a device's steps.
var (
	deviceCommit  = testkit.CommitOf("INSERT INTO devices")
	approveCommit = testkit.CommitOf("status = 'approved', account_id")
	redeemCommit  = testkit.CommitOf("refresh_generation = 1")
	rotateCommit  = testkit.CommitOf("SET refresh_generation = $6")
)

func TestRedeem_AnswerLost_IsUnknown_AndTheCodeIsSpent(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	r := d.remote(t, Options{})
	ada, client := d.create(t, "ada", ""), d.client()
	device := d.authorize(t, client, "tv")
	d.approve(t, device, ada)
	r.network.CutAfter(t, redeemCommit)
	_, err := r.poll(t.Context(), client, device)
	expectCode(t, err, domain.KindOutcomeUnknown, "outcome_unknown")
	_, err = r.poll(t.Context(), client, device)
	expectGrant(t, err, tenancy.GrantInvalidGrant)
	if now := d.deviceLine(t, device.ID); now != "tv approved rev 3 of ada, redeemed, token 1" {
		t.Errorf("the device is %q", now)
	}
}

func TestRedeem_CommitLost_IsUnknown_AndTheCodeIsGood(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	r := d.remote(t, Options{})
	ada, client := d.create(t, "ada", ""), d.client()
	device := d.authorize(t, client, "tv")
	d.approve(t, device, ada)
	r.network.CutBefore(t, redeemCommit)
	_, err := r.poll(t.Context(), client, device)
	expectCode(t, err, domain.KindOutcomeUnknown, "outcome_unknown")
	if _, err := r.poll(t.Context(), client, device); err != nil {
		t.Errorf("the next poll: %v", err)
	}
	if now := d.deviceLine(t, device.ID); now != "tv approved rev 3 of ada, redeemed, token 1" {
		t.Errorf("the device is %q", now)
	}
}

func TestDeviceAnswersLost_AreFoundOut(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	r := d.remote(t, Options{Deadline: time.Minute})
	ada, label := d.create(t, "ada", ""), "tv"
	req := CreateDevice{Label: &label, Client: d.client(), IdempotencyKey: "k"}
	r.network.CutAfter(t, deviceCommit)
	_, err := r.CreateDevice(t.Context(), d.scope, req)
	expectCode(t, err, domain.KindOutcomeUnknown, "outcome_unknown")
	device, err := r.CreateDevice(t.Context(), d.scope, req)
	if err != nil || !device.Replayed || device.DeviceCode == "" {
		t.Fatalf("the retry got %+v, %v", device, err)
	}
	r.network.CutAfter(t, approveCommit)
	_, err = r.ApproveDevice(t.Context(), d.scope, d.guessOf(device, ada))
	expectCode(t, err, domain.KindOutcomeUnknown, "outcome_unknown")
	if again, err := r.ApproveDevice(t.Context(), d.scope, d.guessOf(device, ada)); err != nil || again.Revision != 2 {
		t.Errorf("the retry got %+v, %v", again, err)
	}
	d.expectState(t, state{
		Accounts: []string{"ada - active rev 1"},
		Devices:  []string{"tv approved rev 2 of ada"},
		Links:    []string{"ada to tv"},
		Claims:   []string{"device-code code of tv", "handle ada of ada"},
		Events: []string{
			"ada 1 account.created by principal [handle]",
			"tv 1 device.created by principal [client_id label status]",
			"tv 2 device.approved by principal [account_id status]",
		},
	})
	d.expectNothingCharged(t)
	d.checkInvariants(t, true)
}
