package identity

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// The chain of refresh tokens ends with the device.
const sqlRevokeDevice = `
UPDATE devices SET revision = $5, updated_at = $6, status = 'revoked', refresh_hash = NULL
 WHERE tenant_id = $1 AND number = $2 AND device_id = $3 AND revision = $4 AND status <> 'revoked'`

// RevokeDevice ends a device that is still at the revision given, whatever it
// was: nothing is redeemed or refreshed any more. The access tokens that it has
// last for their 15 minutes. Revoking it again is fine, whatever the revision.
//
// Errors: precondition failed on another revision, not found.
func (s *Service) RevokeDevice(ctx context.Context, scope tenancy.Scope, id domain.DeviceID, revision int64) error {
	return s.changeDevice(ctx, scope.Tenant, id, func(c *deviceChange) error {
		if c.device.Status != DeviceRevoked && c.device.Revision != revision {
			return errDeviceStale
		}
		c.revoke(principalActor(scope))
		return nil
	})
}

// revoke ends the device, unless that was done.
func (c *deviceChange) revoke(actor Actor) {
	if c.device.Status == DeviceRevoked {
		return
	}
	c.commit(sqlRevokeDevice, DeviceWasRevoked, []string{"status"}, actor, c.now)
	c.device.Status, c.device.refresh.hash = DeviceRevoked, nil
}

// revokeOrphan ends the device of an account that was deleted. An account never
// returns, so this can come at any time, and need not come at all: the account is
// asked before its device gets anything.
func (s *Service) revokeOrphan(ctx context.Context, tenant domain.TenantID, id domain.DeviceID, account domain.AccountID) error {
	return s.changeDevice(ctx, tenant, id, func(c *deviceChange) error {
		if c.device.Account == account {
			c.revoke(Actor{Kind: ActorHoldfast})
		}
		return nil
	})
}
