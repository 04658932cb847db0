package identity

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// lifeOfDevices takes one device all the way, one to its denial, and one to an
// account that is deleted before it could be redeemed.
func lifeOfDevices(ctx context.Context, d *directory) error {
	client := d.client("watch")
	owner, err := d.tryCreate(ctx, "keeper", "")
	if err != nil {
		return err
	}
	if err := lifeOfADevice(ctx, d, client, owner.Account); err != nil {
		return err
	}
	label := "phone"
	device, err := d.AuthorizeDevice(ctx, client, AuthorizeDevice{Label: &label})
	if err != nil {
		return err
	}
	if _, err := d.DenyDevice(ctx, d.scope, d.guessOf(device, owner.Account)); err != nil {
		return err
	}
	return lifeOfAnOrphan(ctx, d, client)
}

// lifeOfADevice is made again with its key, is guessed at in vain, looked up,
// approved, redeemed, refreshed, and given away by a token of before.
func lifeOfADevice(ctx context.Context, d *directory, client tenancy.Client, owner Account) error {
	label := "tv"
	var device CreatedDevice
	for range 2 {
		var err error
		req := CreateDevice{Label: &label, Client: client, IdempotencyKey: "tv"}
		if device, err = d.CreateDevice(ctx, d.scope, req); err != nil {
			return err
		}
	}
	if _, err := d.LookupCode(ctx, d.scope, CodeGuess{wrongCode(device), owner.ID}); stopped(err) {
		return err
	}
	if _, err := d.LookupCode(ctx, d.scope, d.guessOf(device, owner)); err != nil {
		return err
	}
	if _, err := d.ApproveDevice(ctx, d.scope, d.guessOf(device, owner)); err != nil {
		return err
	}
	first, err := d.poll(ctx, client, device)
	if err != nil {
		return err
	}
	if _, err := d.refresh(ctx, client, first.RefreshToken); err != nil {
		return err
	}
	if _, err := d.refresh(ctx, client, first.RefreshToken); stopped(err) {
		return err
	}
	return nil
}

func lifeOfAnOrphan(ctx context.Context, d *directory, client tenancy.Client) error {
	leaver, err := d.tryCreate(ctx, "leaver", "")
	if err != nil {
		return err
	}
	label := "orphan"
	device, err := d.AuthorizeDevice(ctx, client, AuthorizeDevice{Label: &label})
	if err != nil {
		return err
	}
	if _, err := d.ApproveDevice(ctx, d.scope, d.guessOf(device, leaver.Account)); err != nil {
		return err
	}
	if err := d.Delete(ctx, d.scope, leaver.Account.ID, leaver.Account.Revision); err != nil {
		return err
	}
	if _, err := d.poll(ctx, client, device); stopped(err) {
		return err
	}
	return nil
}

// wrongCode is a code that the device doesn't show.
func wrongCode(device CreatedDevice) string {
	letters := []byte(device.UserCode.Key())
	if letters[0]++; letters[0] != 'C' {
		letters[0] = 'B'
	}
	return string(letters)
}

// expectNoOrphanCode holds a claim of a user code to its device: it leads there,
// or nowhere.
func (d *directory) expectNoOrphanCode(t *testing.T, c storedClaim) {
	t.Helper()
	found, err := d.holder(t.Context(), c.tenant, c.claim.link)
	if err != nil {
		t.Fatal(err)
	}
	var want *deviceRow
	for _, device := range d.deviceRows(t) {
		if device.tenant == c.tenant && device.holds(c.claim.link, time.Now()) {
			want = device.deviceRow
		}
	}
	if (found == nil) != (want == nil) || found != nil && found.device.ID != want.ID {
		t.Errorf("the code %s leads to %+v, want %+v", c.claim.Key, found, want)
	}
}

// expectEveryDeviceUsable says that no device is stuck, whatever crashed: a
// pending one can be approved, an approved one redeemed or refreshed, if its
// account is there; what says that it is an account's is shown with it.
func (d *directory) expectEveryDeviceUsable(t *testing.T) {
	t.Helper()
	heir := d.create(t, "heir", "")
	for _, device := range d.deviceRows(t) {
		if device.tenant != d.scope.Tenant {
			continue
		}
		client := tenancy.Client{ID: device.Client, Tenant: device.tenant, Scopes: device.Scopes}
		shown, err := d.shownDevice(device.tenant, device.deviceRow)
		if err != nil {
			t.Fatal(err)
		}
		owner, ownerErr := d.Get(t.Context(), d.scope, device.Account)
		name := orZero(device.Label)
		switch {
		case device.Status == DevicePending:
			d.approve(t, shown, heir)
			d.expectRedeemable(t, client, shown, heir)
		case device.Status == DeviceApproved && ownerErr != nil:
			_, err := d.poll(t.Context(), client, shown)
			expectGrant(t, err, tenancy.GrantInvalidGrant)
		case device.Status == DeviceApproved && device.RedeemedAt == nil:
			d.approve(t, shown, owner) // again, by whoever wasn't told
			d.expectRedeemable(t, client, shown, owner)
		case device.Status == DeviceApproved:
			if _, err := d.refresh(t.Context(), client, d.lastToken(t, device.deviceRow)); err != nil {
				t.Errorf("%s can't be refreshed: %v", name, err)
			}
		}
	}
}

func (d *directory) expectRedeemable(t *testing.T, client tenancy.Client, device CreatedDevice, owner Account) {
	t.Helper()
	if _, err := d.poll(t.Context(), client, device); err != nil {
		t.Errorf("%s can't be redeemed: %v", orZero(device.Label), err)
	}
	page, err := d.AccountDevices(t.Context(), d.scope, owner.ID, nil, domain.DeviceID{}, MaxPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, listed := range page.Devices {
		if listed.ID == device.ID {
			return
		}
	}
	t.Errorf("%s is not among its account's: %s", orZero(device.Label), cmp.Diff(nil, page.Devices))
}

// lastToken derives the last refresh token of a device's chain, for a client that
// was not told.
func (d *directory) lastToken(t *testing.T, device *deviceRow) string {
	t.Helper()
	secret, ok := d.secrets.DeriveWith(device.refresh.serverKeyID, refreshParts(d.scope.Tenant, device.ID, device.refresh.generation)...)
	if !ok {
		t.Fatal("no such server key")
	}
	return newRefresh(device.ID, device.refresh.generation, secret, "").token.String()
}
