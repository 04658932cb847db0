package identity

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

var errAccountDisabled = domain.Conflict("account_disabled",
	"The account is disabled. Make it active first.")

// linking is the decision, in the account's bucket, that a device may become the
// account's. It is made before the device's own, so that no device is ever an
// account's without a link that leads to it.
//
// A crash behind it leaves a link whose device doesn't agree. Nobody is shown
// that, and the same device may be linked again.
type linking struct {
	account     domain.AccountID
	device      domain.DeviceID
	disabledToo bool    // a disabled account may have the device, as imports need it
	paid        *charge // a guess that turned out right, to be refunded; or nil
}

// sqlLinkDevice dates a link in doubt anew, so that a cleanup which has found it
// since it was old leaves it alone.
const sqlLinkDevice = `
INSERT INTO account_devices AS l (tenant_id, number, account_id, device_id, confirmed, created_at)
VALUES ($1, $2, $3, $4, false, $5)
ON CONFLICT (tenant_id, number, account_id, device_id) DO UPDATE SET created_at = excluded.created_at
 WHERE NOT l.confirmed`

func (s *Service) linkDevice(ctx context.Context, tenant domain.TenantID, l *linking) error {
	err := s.changeAccount(ctx, tenant, accountRef(l.account), needs{}, func(a *lockedAccount) error {
		switch {
		case !a.account.visible():
			return errNoAccount
		case a.account.Status == Disabled && !l.disabledToo:
			return errAccountDisabled
		}
		if l.paid != nil {
			l.paid.queueRefund(a.Tx)
		}
		a.queue(sqlLinkDevice, l.device, a.now)
		return nil
	})
	if err != nil {
		return err
	}
	return s.reach(ctx, "device linked")
}

const sqlConfirmLink = `
UPDATE account_devices SET confirmed = true
 WHERE tenant_id = $1 AND number = $2 AND account_id = $3 AND device_id = $4 AND NOT confirmed`

// confirmLink marks the link of a device that has become the account's. If the
// account was deleted in between, its device is revoked, and the error is
// errNoAccount. Whatever else fails here changes nothing for anybody.
func (s *Service) confirmLink(ctx context.Context, tenant domain.TenantID, account domain.AccountID, device domain.DeviceID) error {
	err := s.changeAccount(ctx, tenant, accountRef(account), needs{}, func(a *lockedAccount) error {
		if !a.account.visible() {
			return errNoAccount
		}
		a.queue(sqlConfirmLink, device)
		return nil
	})
	if errors.Is(err, errNoAccount) {
		return s.disown(ctx, tenant, account, device)
	}
	if err != nil {
		s.metrics.recovered(ctx, "unconfirmed_link")
	}
	return nil
}

// disown revokes the device of an account that is gone, and says that it is.
func (s *Service) disown(ctx context.Context, tenant domain.TenantID, account domain.AccountID, device domain.DeviceID) error {
	if err := s.reach(ctx, "device orphaned"); err != nil {
		return err
	}
	if err := s.revokeOrphan(ctx, tenant, device, account); err != nil {
		return err
	}
	return errNoAccount
}
