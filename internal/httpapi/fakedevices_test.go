package httpapi

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

var knownDevice = domain.DeviceID{0x01, 0x94, 15: 4}

func theDevice() identity.Device {
	label, expires := "Living room", verifiedAt.Add(15*time.Minute)
	return identity.Device{
		ID: knownDevice, Revision: 3, Status: identity.DeviceApproved, Account: knownAccount, Label: &label, Client: knownClient,
		Scopes: []string{"play"}, UserCode: identity.RestoreUserCode("WDJBMJHT"), ExpiresAt: &expires,
		CreatedAt: verifiedAt, UpdatedAt: verifiedAt, ApprovedAt: &verifiedAt,
	}
}

// newDevice is one that nobody has decided about, with or without a client.
func newDevice(client tenancy.Client) identity.CreatedDevice {
	created := identity.CreatedDevice{Device: theDevice()}
	created.Revision, created.Status, created.Account, created.ApprovedAt = 1, identity.DevicePending, domain.AccountID{}, nil
	created.Client = client.ID
	if !client.ID.IsZero() {
		created.DeviceCode = "device-code"
	}
	return created
}

func (f *fakeDirectory) CreateDevice(ctx context.Context, _ tenancy.Scope, want identity.CreateDevice) (identity.CreatedDevice, error) {
	created := newDevice(want.Client)
	created.Replayed = want.IdempotencyKey == "replayed"
	return created, f.called(ctx, want)
}

func (f *fakeDirectory) GetDevice(ctx context.Context, _ tenancy.Scope, id domain.DeviceID) (identity.Device, error) {
	return theDevice(), f.called(ctx, id)
}

type patchedDevice struct {
	ID       domain.DeviceID
	Revision int64
	Patch    identity.DevicePatch
}

func (f *fakeDirectory) PatchDevice(ctx context.Context, _ tenancy.Scope, id domain.DeviceID, revision int64, patch identity.DevicePatch) (identity.Device, error) {
	return theDevice(), f.called(ctx, patchedDevice{id, revision, patch})
}

func (f *fakeDirectory) RevokeDevice(ctx context.Context, _ tenancy.Scope, id domain.DeviceID, revision int64) error {
	return f.called(ctx, patchedDevice{ID: id, Revision: revision})
}

type listedDevices struct {
	Account domain.AccountID
	Status  *identity.DeviceStatus
	After   domain.DeviceID
	Limit   int
}

func (f *fakeDirectory) AccountDevices(ctx context.Context, _ tenancy.Scope, account domain.AccountID, status *identity.DeviceStatus, after domain.DeviceID, limit int) (identity.DevicePage, error) {
	return f.devices, f.called(ctx, listedDevices{account, status, after, limit})
}

type guessed struct {
	What  string
	Guess identity.CodeGuess
}

func (f *fakeDirectory) LookupCode(ctx context.Context, _ tenancy.Scope, guess identity.CodeGuess) (identity.Device, error) {
	return theDevice(), f.called(ctx, guessed{"lookup", guess})
}

func (f *fakeDirectory) ApproveDevice(ctx context.Context, scope tenancy.Scope, guess identity.CodeGuess, clients identity.Clients) (identity.Device, error) {
	if _, err := clients.PublicClientOf(ctx, scope.Tenant, knownClient); err != nil {
		return identity.Device{}, err
	}
	return theDevice(), f.called(ctx, guessed{"approve", guess})
}

func (f *fakeDirectory) DenyDevice(ctx context.Context, _ tenancy.Scope, guess identity.CodeGuess) (identity.Device, error) {
	return theDevice(), f.called(ctx, guessed{"deny", guess})
}

// The device flow.

func (f *fakeDirectory) AuthorizeDevice(ctx context.Context, client tenancy.Client, want identity.AuthorizeDevice) (identity.CreatedDevice, error) {
	return newDevice(client), f.called(ctx, want)
}

func (f *fakeDirectory) earned(ctx context.Context, got any) (identity.Redeemed, error) {
	if err := f.called(ctx, got); err != nil {
		return identity.Redeemed{}, err
	}
	return identity.Redeemed{Device: knownDevice, Account: knownAccount, Scopes: []string{"play"}, RefreshToken: "refresh-2"}, nil
}

func (f *fakeDirectory) PollDevice(ctx context.Context, client tenancy.Client, deviceCode string) (identity.Redeemed, error) {
	return f.earned(ctx, []any{client.ID, deviceCode})
}

func (f *fakeDirectory) RefreshDevice(ctx context.Context, client tenancy.Client, refreshToken string, scopes []string) (identity.Redeemed, error) {
	return f.earned(ctx, []any{client.ID, refreshToken, scopes})
}

func (f *fakeDirectory) RevokeRefreshToken(ctx context.Context, client tenancy.Client, token string) error {
	return f.called(ctx, []any{client.ID, token})
}
