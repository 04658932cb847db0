package identity

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// CreateDevice asks for a device, in the words of the tenant's application.
type CreateDevice struct {
	Label          *string        // at most 200 characters
	Client         tenancy.Client // the public client that will redeem it; zero for none
	Scopes         []string       // scope-tokens of RFC 6749, section 3.3; none stands for all that the client may ask for
	IdempotencyKey string         // at most 255 bytes; "" for none
}

// CreatedDevice is the answer to CreateDevice and AuthorizeDevice.
type CreatedDevice struct {
	Device
	DeviceCode string // what the device polls with, shown to it alone; "" without a client
	Replayed   bool   // answered from the device that an earlier request with this key made
}

// CreateDevice makes a device that waits for an account to approve its user
// code.
func (s *Service) CreateDevice(ctx context.Context, scope tenancy.Scope, req CreateDevice) (CreatedDevice, error) {
	return CreatedDevice{}, errors.ErrUnsupported
}

// AuthorizeDevice asks for a device, in the words of a public client.
type AuthorizeDevice struct {
	Scopes []string // none stands for all that the client may ask for
	Label  *string  // at most 200 characters
}

// AuthorizeDevice begins a device flow (RFC 8628, section 3.1).
func (s *Service) AuthorizeDevice(ctx context.Context, client tenancy.Client, req AuthorizeDevice) (CreatedDevice, error) {
	return CreatedDevice{}, errors.ErrUnsupported
}

// DevicePatch changes what is no lookup key. A nil field stays as it is.
type DevicePatch struct {
	Label **string // a pointer to nil removes the label
}

// DevicePage is a page of an account's devices. Next is nil on the last one.
type DevicePage struct {
	Devices []Device
	Next    *domain.DeviceID
}

// GetDevice reads the committed device.
func (s *Service) GetDevice(ctx context.Context, scope tenancy.Scope, id domain.DeviceID) (Device, error) {
	return Device{}, errors.ErrUnsupported
}

// PatchDevice changes a device that is still at the revision given.
func (s *Service) PatchDevice(ctx context.Context, scope tenancy.Scope, id domain.DeviceID, revision int64, patch DevicePatch) (Device, error) {
	return Device{}, errors.ErrUnsupported
}

// RevokeDevice ends a device that is still at the revision given.
func (s *Service) RevokeDevice(ctx context.Context, scope tenancy.Scope, id domain.DeviceID, revision int64) error {
	return errors.ErrUnsupported
}

// AccountDevices walks the devices that are, or were, an account's, by id.
func (s *Service) AccountDevices(ctx context.Context, scope tenancy.Scope, account domain.AccountID, status *DeviceStatus, after domain.DeviceID, limit int) (DevicePage, error) {
	return DevicePage{}, errors.ErrUnsupported
}

// CodeGuess is a user code as somebody typed it, for a signed-in account.
type CodeGuess struct {
	UserCode string
	Account  domain.AccountID
}

// LookupCode shows the device that a user code leads to.
func (s *Service) LookupCode(ctx context.Context, scope tenancy.Scope, guess CodeGuess) (Device, error) {
	return Device{}, errors.ErrUnsupported
}

// ApproveDevice lets the device in, for the account.
func (s *Service) ApproveDevice(ctx context.Context, scope tenancy.Scope, guess CodeGuess) (Device, error) {
	return Device{}, errors.ErrUnsupported
}

// DenyDevice turns the device away.
func (s *Service) DenyDevice(ctx context.Context, scope tenancy.Scope, guess CodeGuess) (Device, error) {
	return Device{}, errors.ErrUnsupported
}

// Redeemed is what a device code or a refresh token has earned.
type Redeemed struct {
	Device       domain.DeviceID
	Account      domain.AccountID
	Scopes       []string // of the access token
	RefreshToken string
}

// PollDevice asks whether the device has been approved (RFC 8628, section 3.4).
func (s *Service) PollDevice(ctx context.Context, client tenancy.Client, deviceCode string) (Redeemed, error) {
	return Redeemed{}, errors.ErrUnsupported
}

// RefreshDevice turns a refresh token into the next one (RFC 6749, section 6).
func (s *Service) RefreshDevice(ctx context.Context, client tenancy.Client, refreshToken string, scopes []string) (Redeemed, error) {
	return Redeemed{}, errors.ErrUnsupported
}

// RevokeRefreshToken revokes a refresh token, and its device with it (RFC 7009).
func (s *Service) RevokeRefreshToken(ctx context.Context, client tenancy.Client, token string) error {
	return errors.ErrUnsupported
}
