package identity

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func TestPatchDevice_ChangesTheLabelAtItsRevisionAlone(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	device := d.authorize(t, d.client(), "tv")
	bedroom, none := "bedroom", (*string)(nil)
	set := &bedroom
	got, err := d.PatchDevice(t.Context(), d.scope, device.ID, 1, DevicePatch{Label: &set})
	if err != nil || got.Revision != 2 || *got.Label != bedroom || !got.UpdatedAt.After(device.UpdatedAt) {
		t.Errorf("got %+v, %v", got, err)
	}
	read, err := d.GetDevice(t.Context(), d.scope, device.ID)
	if diff := cmp.Diff(got, read, cmp.AllowUnexported(UserCode{})); diff != "" || err != nil {
		t.Errorf("told and read: %v (-told +read)\n%s", err, diff)
	}
	if read.UserCode != device.UserCode || !read.ExpiresAt.Equal(*device.ExpiresAt) {
		t.Error("the code or its expiry has changed")
	}
	for _, stale := range []int64{0, 1, 3} {
		_, err := d.PatchDevice(t.Context(), d.scope, device.ID, stale, DevicePatch{Label: &set})
		expectCode(t, err, domain.KindPreconditionFailed, "revision_stale")
	}
	long := strings.Repeat("a", 201)
	tooLong := &long
	_, err = d.PatchDevice(t.Context(), d.scope, device.ID, 2, DevicePatch{Label: &tooLong})
	expectCode(t, err, domain.KindInvalid, "label_too_long")
	for _, disguised := range []string{"TV\a", "TV\u202egnp", "TV\n"} {
		label := &disguised
		_, err = d.PatchDevice(t.Context(), d.scope, device.ID, 2, DevicePatch{Label: &label})
		expectCode(t, err, domain.KindInvalid, "label_invalid")
	}
	if got, err = d.PatchDevice(t.Context(), d.scope, device.ID, 2, DevicePatch{Label: &none}); err != nil || got.Label != nil {
		t.Errorf("without a label: %+v, %v", got, err)
	}
	d.expectState(t, state{
		Devices: []string{"- pending rev 3"},
		Claims:  []string{"device-code code of -"},
		Events: []string{
			"- 1 device.created by client [client_id label status]",
			"- 2 device.changed by principal [label]",
			"- 3 device.changed by principal [label]",
		},
	})
}

func TestPatchDevice_AtOnce_OneWins(t *testing.T) {
	t.Parallel()
	devicePatchRace(t, newDirectory(t, Options{}))
}

func devicePatchRace(t *testing.T, d *directory) {
	device := d.authorize(t, d.client(), "tv")
	won := 0
	for _, err := range atOnce(16, func(i int) error {
		name := numbered("tv-%d", i)
		label := &name
		_, err := d.PatchDevice(t.Context(), d.scope, device.ID, 1, DevicePatch{Label: &label})
		return err
	}) {
		if err == nil {
			won++
		} else {
			expectCode(t, err, domain.KindPreconditionFailed, "revision_stale")
		}
	}
	if won != 1 {
		t.Errorf("%d won", won)
	}
	d.checkInvariants(t, true)
}

func TestRevokeDevice_EndsItWhateverItWas(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, client := d.create(t, "ada", ""), d.client()
	pending, denied, approved := d.authorize(t, client, "pending"), d.authorize(t, client, "denied"), d.authorize(t, client, "approved")
	if _, err := d.DenyDevice(t.Context(), d.scope, d.guessOf(denied, ada)); err != nil {
		t.Fatal(err)
	}
	d.approve(t, approved, ada)
	redeemed, tokens := d.redeemed(t, client, "redeemed", ada)
	revisions := map[domain.DeviceID]int64{pending.ID: 1, denied.ID: 2, approved.ID: 2, redeemed.ID: 3}
	for id, revision := range revisions {
		expectCode(t, d.RevokeDevice(t.Context(), d.scope, id, revision-1), domain.KindPreconditionFailed, "revision_stale")
		for _, r := range []int64{revision, revision, 77} { // and again, whatever the revision
			if err := d.RevokeDevice(t.Context(), d.scope, id, r); err != nil {
				t.Errorf("revoke at %d: %v", r, err)
			}
		}
	}
	for _, device := range []CreatedDevice{pending, denied, approved, redeemed} {
		_, err := d.poll(t.Context(), client, device)
		expectGrant(t, err, tenancy.GrantInvalidGrant)
		_, err = d.LookupCode(t.Context(), d.scope, d.guessOf(device, ada))
		expectCode(t, err, domain.KindConflict, "device_decided")
	}
	_, err := d.refresh(t.Context(), client, tokens.RefreshToken)
	expectGrant(t, err, tenancy.GrantInvalidGrant)
	d.expectState(t, state{
		Accounts: []string{"ada - active rev 1"},
		Devices: []string{"approved revoked rev 3 of ada", "denied revoked rev 3", "pending revoked rev 2",
			"redeemed revoked rev 4 of ada, redeemed, token 1"},
		Links: []string{"ada to approved", "ada to redeemed"},
		Claims: []string{"device-code code of approved", "device-code code of denied", "device-code code of pending",
			"device-code code of redeemed", "handle ada of ada"},
		Events: []string{
			"ada 1 account.created by principal [handle]",
			"approved 1 device.created by client [client_id label status]",
			"approved 2 device.approved by principal [account_id status]",
			"approved 3 device.revoked by principal [status]",
			"denied 1 device.created by client [client_id label status]",
			"denied 2 device.denied by principal [status]",
			"denied 3 device.revoked by principal [status]",
			"pending 1 device.created by client [client_id label status]",
			"pending 2 device.revoked by principal [status]",
			"redeemed 1 device.created by client [client_id label status]",
			"redeemed 2 device.approved by principal [account_id status]",
			"redeemed 3 device.redeemed by client [redeemed_at]",
			"redeemed 4 device.revoked by principal [status]",
		},
	})
	d.checkInvariants(t, true)
}

// The answer for another tenant's device, account, code or token is the one for
// what nobody ever had.
func TestAnotherTenantsDevice_IsAsUnknownAsARandomOne(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, client := d.create(t, "ada", ""), d.client()
	waiting := d.authorize(t, client, "waiting")
	theirs, tokens := d.redeemed(t, client, "theirs", ada)
	before := d.state(t)

	abroad := d.with(Options{})
	abroad.scope = d.newTenant(t, "ascii")
	own := abroad.create(t, "own", "")
	stranger := abroad.client()
	stranger.ID = client.ID // even so
	ofDevice := map[string]func(context.Context, domain.DeviceID) error{
		"GetDevice": func(ctx context.Context, id domain.DeviceID) error {
			_, err := d.GetDevice(ctx, abroad.scope, id)
			return err
		},
		"RevokeDevice": func(ctx context.Context, id domain.DeviceID) error { return d.RevokeDevice(ctx, abroad.scope, id, 3) },
		"PatchDevice": func(ctx context.Context, id domain.DeviceID) error {
			_, err := d.PatchDevice(ctx, abroad.scope, id, 3, DevicePatch{})
			return err
		},
	}
	for name, call := range ofDevice {
		for _, id := range []domain.DeviceID{theirs.ID, domain.NewID[domain.DeviceKind](time.Now())} {
			if err := call(t.Context(), id); err != errNoDevice {
				t.Errorf("%s: %v, want %v", name, err, errNoDevice)
			}
		}
	}
	ofCode := map[string]func(context.Context, tenancy.Scope, CodeGuess) (Device, error){
		"LookupCode": d.LookupCode, "ApproveDevice": d.ApproveDevice, "DenyDevice": d.DenyDevice,
	}
	for name, call := range ofCode {
		for _, account := range []domain.AccountID{ada.ID, domain.NewID[domain.AccountKind](time.Now())} {
			if _, err := call(t.Context(), abroad.scope, CodeGuess{waiting.UserCode.String(), account}); err != errNoAccount {
				t.Errorf("%s for a strange account: %v, want %v", name, err, errNoAccount)
			}
		}
		for _, code := range []string{waiting.UserCode.String(), wrongCode(waiting)} {
			if _, err := call(t.Context(), abroad.scope, CodeGuess{code, own.ID}); err != errNoCode {
				t.Errorf("%s of a strange code: %v, want %v", name, err, errNoCode)
			}
		}
	}
	_, err := d.poll(t.Context(), stranger, waiting)
	expectGrant(t, err, tenancy.GrantInvalidGrant)
	_, err = d.refresh(t.Context(), stranger, tokens.RefreshToken)
	expectGrant(t, err, tenancy.GrantInvalidGrant)
	if err := d.RevokeRefreshToken(t.Context(), stranger, tokens.RefreshToken); err != nil {
		t.Errorf("revoke: %v", err)
	}
	d.expectState(t, before)
	for _, g := range d.guessRows(t) {
		if g.tenant == d.scope.Tenant && len(g.at) > 0 || g.tenant == abroad.scope.Tenant && !g.subject.IsZero() && g.subject != domain.RecordID(own.ID) {
			t.Errorf("%d guesses stand of %s in tenant %s", len(g.at), g.subject, g.tenant)
		}
	}
}

// Whoever calls by a public client is held to the gates as the application is.
func TestANamespaceThatIsNotServed_RefusesTheDeviceFlow(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, client := d.create(t, "ada", ""), d.client()
	waiting := d.authorize(t, client, "waiting")
	_, tokens := d.redeemed(t, client, "living", ada)
	before := d.state(t)
	calls := map[string]func() error{
		"AuthorizeDevice":    func() error { _, err := d.AuthorizeDevice(t.Context(), client, AuthorizeDevice{}); return err },
		"PollDevice":         func() error { _, err := d.poll(t.Context(), client, waiting); return err },
		"RefreshDevice":      func() error { _, err := d.refresh(t.Context(), client, tokens.RefreshToken); return err },
		"RevokeRefreshToken": func() error { return d.RevokeRefreshToken(t.Context(), client, tokens.RefreshToken) },
	}
	gates := map[string]tenancy.GateState{
		"tenant_suspended":    gateOf("suspended"),
		"namespace_importing": {State: "open", Layout: domain.Layout, IdentityState: "importing"},
		"layout_unknown":      {State: "open", Layout: "legacy", IdentityState: "open"},
	}
	for code, gate := range gates {
		d.setGate(t, d.scope.Tenant, gate)
		for name, call := range calls {
			if err := call(); domain.KindOf(err) != domain.KindForbidden || domain.CodeOf(err) != code {
				t.Errorf("%s: %v, want forbidden %s", name, err, code)
			}
		}
	}
	d.expectState(t, before)
}
