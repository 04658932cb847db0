package identity

import (
	"bytes"
	"context"
	"time"

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
	DeviceCode string // what the device polls with, shown to it alone; "" without a client, since only that may redeem it
	Replayed   bool   // answered from the device that an earlier request with this key made
}

// maxCodeAttempts bounds how many user codes a creation tries. One in
// 25,600,000,000 leads to a given device, so a second is seldom needed.
const maxCodeAttempts = 5

var (
	errDeviceGone = domain.Gone("device_removed",
		"The device that this Idempotency-Key made has been removed. Use a new key to make another.")
	errNoFreeCode = domain.Unavailable("user_code_unavailable",
		"No free user code was found. Nothing was changed; try again.").After(time.Second)
	errCodeKeyMissing = domain.Unavailable("server_key_missing",
		"The device code can't be shown again: the key that it derives from was taken away. Make another device with a new Idempotency-Key.")
)

// CreateDevice makes a device that waits for an account to approve its user
// code, which ends with the device code 15 minutes later.
//
// With an idempotency key the id derives from the caller and the key, so that a
// repeated request meets the device that the first one made, and is shown the
// same codes.
//
// Errors: invalid (with pointers), conflict request_in_flight (retryable), gone
// when the key's device was removed, unavailable, outcome unknown.
func (s *Service) CreateDevice(ctx context.Context, scope tenancy.Scope, req CreateDevice) (CreatedDevice, error) {
	if err := checkLabel(req.Label); err != nil {
		return CreatedDevice{}, err
	}
	scopes, err := scopesOf(req.Client, req.Scopes)
	if err != nil {
		return CreatedDevice{}, err
	}
	id := domain.NewID[domain.DeviceKind](time.Now())
	if req.IdempotencyKey != "" {
		id = domain.DeriveID[domain.DeviceKind](scope.Settings.IDKey, "device", scope.Principal.String(), req.IdempotencyKey)
	}
	device := s.pendingDevice(scope.Tenant, id, req.Client, req.Label, scopes)
	if req.IdempotencyKey != "" {
		device.fingerprint = fingerprintOfDevice(req)
	}
	return s.createDevice(ctx, scope.Tenant, &newDevice{device: device, actor: principalActor(scope)})
}

// pendingDevice is a device as its creation asks for it, without its user code.
func (s *Service) pendingDevice(tenant domain.TenantID, id domain.DeviceID, client tenancy.Client, label *string, scopes []string) *deviceRow {
	d := &deviceRow{
		Device:       Device{ID: id, Status: DevicePending, Label: label, Client: client.ID, Scopes: scopes},
		pollInterval: PollInterval,
	}
	if !client.ID.IsZero() {
		secret, keyID := s.secrets.Derive(deviceCodeParts(tenant, id)...)
		d.secretHash, d.serverKeyID = hashSecret(secret), keyID
	}
	return d
}

// createDevice makes a device under a user code that nobody has.
func (s *Service) createDevice(ctx context.Context, tenant domain.TenantID, n *newDevice) (CreatedDevice, error) {
	for attempt := range maxCodeAttempts {
		n.device.UserCode = s.deriveUserCode(tenant, n.device.ID, attempt)
		found, err := s.makeDevice(ctx, tenant, n)
		switch {
		case codeIsTaken(err):
		case err != nil:
			return CreatedDevice{}, err
		case found != nil:
			return s.replayDevice(tenant, n.device, found)
		default:
			return s.shownDevice(tenant, n.device)
		}
	}
	return CreatedDevice{}, errNoFreeCode
}

// codeIsTaken tells that another code is to be tried: the device didn't ask for
// this one, so whoever has it, or may soon, is none of its caller's business.
func codeIsTaken(err error) bool {
	code := domain.CodeOf(err)
	return code == "user_code_taken" || code == "claim_pending"
}

// replayDevice answers a repeated creation from the device that the first made.
func (s *Service) replayDevice(tenant domain.TenantID, asked, found *deviceRow) (CreatedDevice, error) {
	if !bytes.Equal(asked.fingerprint, found.fingerprint) {
		return CreatedDevice{}, errKeyReused
	}
	c, err := s.shownDevice(tenant, found)
	c.Replayed = true
	return c, err
}

// shownDevice is a device with its device code, which derives anew.
func (s *Service) shownDevice(tenant domain.TenantID, d *deviceRow) (CreatedDevice, error) {
	if d.secretHash == nil {
		return CreatedDevice{Device: d.Device}, nil
	}
	secret, ok := s.secrets.DeriveWith(d.serverKeyID, deviceCodeParts(tenant, d.ID)...)
	if !ok {
		return CreatedDevice{}, errCodeKeyMissing
	}
	return CreatedDevice{Device: d.Device, DeviceCode: deviceCode{d.ID, [secretSize]byte(secret)}.String()}, nil
}
