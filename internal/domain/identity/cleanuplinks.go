package identity

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// clearDeleted ends a device of a deleted account, by the link that leads to it:
// one that is the account's is removed, whatever its code; one that still waits is
// denied, so that an approval which was under way as the account was deleted
// can't let it in. Then the link goes. An account that has no more of them is
// noted, for good, since none is ever linked to it again.
//
// A crash in between leaves the link.
func (s *Service) clearDeleted(ctx context.Context, c *cleaning, found candidate) (bool, error) {
	account, device := domain.AccountID(found.record.ID), domain.DeviceID(found.token)
	if device.IsZero() {
		return s.noteDevicesRemoved(ctx, c, found)
	}
	ended, err := s.endDevice(ctx, c.tenant, device, account)
	if err != nil || !ended {
		return false, err
	}
	if err := s.reach(ctx, "cleanup device ended"); err != nil {
		return false, err
	}
	return true, s.changeLink(ctx, c.tenant, sqlDropLink, account, device)
}

// endDevice sees to it that a device is not the account's, and never will be. It
// can't say so of one that changes meanwhile, or whose creation is under way.
func (s *Service) endDevice(ctx context.Context, tenant domain.TenantID, id domain.DeviceID, account domain.AccountID) (ended bool, err error) {
	is := func(d *deviceRow) bool { return d.Account == account }
	err = s.changeDevice(ctx, tenant, id, func(c *deviceChange) error {
		if c.device.Status == DevicePending && c.device.codeLives(c.now) {
			c.commit(sqlDenyDevice, DeviceWasDenied, []string{"status"}, Actor{Kind: ActorHoldfast}, c.now)
		}
		ended = !is(c.device)
		return nil
	})
	switch {
	case errors.Is(err, errNoDevice):
		r, err := s.read(ctx, tenant, deviceRef(id), false)
		return err == nil && r.device == nil && r.operation == nil, err
	case err != nil || ended:
		return ended, err
	}
	return s.removeDevice(ctx, tenant, deviceRef(id), is)
}

// settleLink decides a link that nobody has confirmed: the device is asked. One
// that is the account's, or was, keeps its link. One that may still be approved
// is left as it is. Of every other the link goes, if it is the one that was found:
// an approval that begins meanwhile links the device anew.
func (s *Service) settleLink(ctx context.Context, c *cleaning, found candidate) (bool, error) {
	account, device := domain.AccountID(found.record.ID), domain.DeviceID(found.token)
	r, err := s.read(ctx, c.tenant, deviceRef(device), false)
	if err != nil {
		return false, err
	}
	if err := s.reach(ctx, "cleanup link judged"); err != nil {
		return false, err
	}
	switch d := r.device; {
	case d != nil && d.Account == account:
		return true, s.changeLink(ctx, c.tenant, sqlConfirmLink, account, device)
	case d != nil && d.Status == DevicePending && d.codeLives(r.now.Add(-linkGrace)):
		return false, nil
	default:
		return true, s.changeLink(ctx, c.tenant, sqlDropDoubtful, account, device, found.deadline)
	}
}

const sqlDropDoubtful = `
DELETE FROM account_devices
 WHERE tenant_id = $1 AND number = $2 AND account_id = $3 AND device_id = $4 AND NOT confirmed AND created_at = $5`
