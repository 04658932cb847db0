package identity

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// client is a public client of the directory's tenant, as Tokens would vouch for
// it.
func (d *directory) client(scopes ...string) tenancy.Client {
	return tenancy.Client{
		ID:       domain.NewID[domain.ClientKind](time.Now()),
		Tenant:   d.scope.Tenant,
		Scopes:   scopes,
		Settings: d.scope.Settings,
	}
}

// authorize begins a device flow of the client's.
func (d *directory) authorize(t testing.TB, client tenancy.Client, label string) CreatedDevice {
	t.Helper()
	c, err := d.AuthorizeDevice(t.Context(), client, AuthorizeDevice{Label: &label})
	if err != nil {
		t.Fatalf("authorize %s: %v", label, err)
	}
	return c
}

func (d *directory) guessOf(device CreatedDevice, account Account) CodeGuess {
	return CodeGuess{UserCode: device.UserCode.String(), Account: account.ID}
}

// workingClients are the public clients of all tenants, and each works.
type workingClients struct{}

func (workingClients) PublicClientOf(_ context.Context, tenant domain.TenantID, id domain.ClientID) (tenancy.Client, error) {
	return tenancy.Client{ID: id, Tenant: tenant}, nil
}

// ApproveDevice is Service's where each client works.
func (d *directory) ApproveDevice(ctx context.Context, scope tenancy.Scope, g CodeGuess) (Device, error) {
	return d.Service.ApproveDevice(ctx, scope, g, workingClients{})
}

// approve lets the device in for the account.
func (d *directory) approve(t testing.TB, device CreatedDevice, account Account) Device {
	t.Helper()
	approved, err := d.ApproveDevice(t.Context(), d.scope, d.guessOf(device, account))
	if err != nil {
		t.Fatalf("approve %s: %v", orZero(device.Label), err)
	}
	return approved
}

// poll asks once more.
func (d *directory) poll(ctx context.Context, client tenancy.Client, device CreatedDevice) (Redeemed, error) {
	return d.PollDevice(ctx, client, device.DeviceCode)
}

// redeemed takes a device through its flow.
func (d *directory) redeemed(t testing.TB, client tenancy.Client, label string, account Account) (CreatedDevice, Redeemed) {
	t.Helper()
	device := d.authorize(t, client, label)
	d.approve(t, device, account)
	r, err := d.poll(t.Context(), client, device)
	if err != nil {
		t.Fatalf("poll %s: %v", label, err)
	}
	return device, r
}

// refresh turns a refresh token.
func (d *directory) refresh(ctx context.Context, client tenancy.Client, token string, scopes ...string) (Redeemed, error) {
	return d.RefreshDevice(ctx, client, token, scopes)
}

// setStatus changes an account.
func (d *directory) setStatus(t testing.TB, account Account, status Status) {
	t.Helper()
	now, err := d.Get(t.Context(), d.scope, account.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Patch(t.Context(), d.scope, account.ID, now.Revision, AccountPatch{Status: &status}); err != nil {
		t.Fatal(err)
	}
}

// expireCodes brings the end of every user code into the past: the devices' and
// the claims'.
func (d *directory) expireCodes(t testing.TB) {
	t.Helper()
	d.everywhere(t, `UPDATE devices SET expires_at = expires_at - interval '1 hour'`)
	d.everywhere(t, `UPDATE claims SET expires_at = expires_at - interval '1 hour'`)
}

// passTime makes every poll and guess an earlier one.
func (d *directory) passTime(t testing.TB, by time.Duration) {
	t.Helper()
	d.everywhere(t, `UPDATE devices SET polled_at = polled_at - $1::interval, paced_at = paced_at - $1::interval`, by)
	d.everywhere(t, `UPDATE code_guesses SET guessed_at = (SELECT array_agg(g - $1::interval ORDER BY g) FROM unnest(guessed_at) g)
		WHERE guessed_at <> '{}'`, by)
}

// grantCode is the code of an OAuth refusal, or "".
func grantCode(err error) string {
	var refused *tenancy.GrantError
	if errors.As(err, &refused) {
		return refused.Code
	}
	return ""
}

func expectGrant(t testing.TB, err error, code string) {
	t.Helper()
	if grantCode(err) != code {
		t.Errorf("got %v, want %s", err, code)
	}
}
