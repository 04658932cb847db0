package identity

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Clients knows a tenant's public clients, as tenancy.Tokens does.
type Clients interface {
	// PublicClientOf fails with client_unknown for one that doesn't work.
	PublicClientOf(context.Context, domain.TenantID, domain.ClientID) (tenancy.Client, error)
}

var errClientDisabled = domain.Conflict("client_disabled",
	"The public client that the device asked through has been disabled, so the device would be given nothing. It can only be denied.")

const sqlApproveDevice = `
UPDATE devices SET revision = $5, updated_at = $6, status = 'approved', account_id = $7, approved_at = $6
 WHERE tenant_id = $1 AND number = $2 AND device_id = $3 AND revision = $4 AND status = 'pending' AND expires_at > $6`

// ApproveDevice lets the device that shows the code in, for the account. The
// account's link comes first, under a lock that holds the account to be active;
// then the device commits; then the link is marked. Approving it again for the
// same account is fine. A device whose client has been disabled is not let in,
// since the client can redeem nothing (RFC 8628, section 3.4).
//
// A crash behind the link leaves the device pending, to be approved or denied as
// if nothing had been. A crash behind the device's commit leaves it approved. An
// account that is deleted while this goes on gets no device: it is asked again
// before its device is given anything.
//
// Errors: as LookupCode; conflict client_disabled; outcome unknown.
func (s *Service) ApproveDevice(ctx context.Context, scope tenancy.Scope, g CodeGuess, clients Clients) (Device, error) {
	right, err := s.guess(ctx, scope, g)
	if err != nil {
		return Device{}, err
	}
	if !right.device.decidable(g.Account) {
		return Device{}, s.unlessStopped(ctx, scope.Tenant, errDecided, right.paid)
	}
	if err := right.device.redeemable(ctx, scope.Tenant, clients); err != nil {
		return Device{}, s.unlessStopped(ctx, scope.Tenant, err, right.paid)
	}
	ctx = context.WithoutCancel(ctx)
	id := right.device.ID
	if err := s.linkDevice(ctx, scope.Tenant, &linking{account: g.Account, device: id, paid: &right.paid}); err != nil {
		return Device{}, s.unlessStopped(ctx, scope.Tenant, nothingHappened(err), right.paid)
	}
	var approved Device
	err = s.changeDevice(ctx, scope.Tenant, id, func(c *deviceChange) error {
		switch d := c.device; {
		case !d.decidable(g.Account):
			return errDecided
		case d.Status == DeviceApproved:
			// By the same account's request, of before or beside this one.
		case !d.codeLives(c.now):
			return errNoCode
		default:
			c.commit(sqlApproveDevice, DeviceWasApproved, []string{"account_id", "status"}, principalActor(scope), c.now, g.Account)
			d.Status, d.Account, d.ApprovedAt = DeviceApproved, g.Account, &c.now
		}
		approved = c.device.Device
		return nil
	})
	if err != nil {
		return Device{}, vanished(err)
	}
	if err := s.reach(ctx, "device approved"); err != nil {
		return Device{}, err
	}
	if err := s.confirmLink(ctx, scope.Tenant, g.Account, id); err != nil {
		return Device{}, err
	}
	return approved, nil
}

// redeemable fails for a device that waits in vain, its client being disabled. One
// that has been decided about stays as it is, and one without a client is nobody's
// to redeem.
func (d *deviceRow) redeemable(ctx context.Context, tenant domain.TenantID, clients Clients) error {
	if d.Client.IsZero() || d.Status != DevicePending {
		return nil
	}
	_, err := clients.PublicClientOf(ctx, tenant, d.Client)
	if domain.CodeOf(err) == "client_unknown" {
		return errClientDisabled
	}
	return err
}

const sqlDenyDevice = `
UPDATE devices SET revision = $5, updated_at = $6, status = 'denied'
 WHERE tenant_id = $1 AND number = $2 AND device_id = $3 AND revision = $4 AND status = 'pending' AND expires_at > $6`

// DenyDevice turns the device that shows the code away. Denying it again is
// fine; a device that was approved is revoked, not denied.
//
// Errors: as LookupCode; outcome unknown.
func (s *Service) DenyDevice(ctx context.Context, scope tenancy.Scope, g CodeGuess) (Device, error) {
	right, err := s.guess(ctx, scope, g)
	if err != nil {
		return Device{}, err
	}
	ctx = context.WithoutCancel(ctx)
	if err := s.refund(ctx, scope.Tenant, right.paid); err != nil {
		return Device{}, err
	}
	var denied Device
	err = s.changeDevice(ctx, scope.Tenant, right.device.ID, func(c *deviceChange) error {
		switch d := c.device; {
		case d.Status == DeviceDenied:
		case d.Status != DevicePending:
			return errDecided
		case !d.codeLives(c.now):
			return errNoCode
		default:
			c.commit(sqlDenyDevice, DeviceWasDenied, []string{"status"}, principalActor(scope), c.now)
			d.Status = DeviceDenied
		}
		denied = c.device.Device
		return nil
	})
	if err != nil {
		return Device{}, vanished(err)
	}
	return denied, nil
}

// vanished says of a device that was removed since its code was looked up what
// there is to say of its code.
func vanished(err error) error {
	if errors.Is(err, errNoDevice) {
		return errNoCode
	}
	return err
}

// codeLives tells whether the device's code has yet to expire.
func (d *deviceRow) codeLives(now time.Time) bool {
	return d.ExpiresAt != nil && now.Before(*d.ExpiresAt)
}
