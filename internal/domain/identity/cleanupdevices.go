package identity

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// removeLapsed removes a device whose code ended before it came to anything.
func (s *Service) removeLapsed(ctx context.Context, c *cleaning, found candidate) (bool, error) {
	return s.removeDevice(ctx, c.tenant, found.record, func(d *deviceRow) bool {
		idle := d.ApprovedAt == nil || !d.Client.IsZero() // without a client, being approved is all it has to come to
		return d.Status != DeviceRevoked && d.RedeemedAt == nil && idle && d.ExpiresAt != nil && !d.ExpiresAt.After(c.due)
	})
}

// removeRevoked removes a device that was revoked, and not changed since.
func (s *Service) removeRevoked(ctx context.Context, c *cleaning, found candidate) (bool, error) {
	return s.removeDevice(ctx, c.tenant, found.record, func(d *deviceRow) bool {
		return d.Status == DeviceRevoked && !d.UpdatedAt.After(c.due)
	})
}

const sqlDoubtLink = `
UPDATE account_devices SET confirmed = false
 WHERE tenant_id = $1 AND number = $2 AND account_id = $3 AND device_id = $4 AND confirmed`

const sqlDropLink = `
DELETE FROM account_devices
 WHERE tenant_id = $1 AND number = $2 AND account_id = $3 AND device_id = $4`

// removeDevice removes a device that has had its time, which is judged again
// under its lock: its link is put in doubt, it is removed, its code's claim is
// released, and then its link goes.
//
// A crash in between leaves a claim that its owner doesn't know, which the sweep
// removes, and a link in doubt, which a task of its own decides. It is never the
// other way round: no device holds a code that is in force without its claim, nor
// is one an account's without a link that leads to it.
func (s *Service) removeDevice(ctx context.Context, tenant domain.TenantID, record ref, hadItsTime func(*deviceRow) bool) (removed bool, err error) {
	r, err := s.read(ctx, tenant, record, true)
	if err != nil || r.device == nil || !hadItsTime(r.device) {
		return false, err
	}
	id, account := r.device.ID, r.device.Account
	if !account.IsZero() {
		if err := s.changeLink(ctx, tenant, sqlDoubtLink, account, id); err != nil {
			return false, err
		}
		if err := s.reach(ctx, "cleanup link doubted"); err != nil {
			return false, err
		}
	}
	err = s.changeDevice(ctx, tenant, id, func(c *deviceChange) error {
		if removed = hadItsTime(c.device); removed {
			c.remove()
		}
		return nil
	})
	if errors.Is(err, errNoDevice) {
		return false, nil // and whoever removed it sees to its link
	}
	if err != nil || !removed {
		return false, err
	}
	if err := s.reach(ctx, "cleanup device removed"); err != nil {
		return true, err
	}
	if links := r.device.links(); len(links) > 0 {
		if err := s.release(ctx, tenant, record, links); err != nil {
			return true, err
		}
		if err := s.reach(ctx, "cleanup code released"); err != nil {
			return true, err
		}
	}
	if account.IsZero() {
		return true, nil
	}
	return true, s.changeLink(ctx, tenant, sqlDropLink, account, id)
}

const sqlRemoveDevice = `
DELETE FROM devices
 WHERE tenant_id = $1 AND number = $2 AND device_id = $3 AND revision = $4`

const sqlDemandRemoved = `
SELECT demand(count(*) = 0) FROM devices
 WHERE tenant_id = $1 AND number = $2 AND device_id = $3`

// remove queues the end of the device. Its last event stays, and for as long as
// it does the device's id isn't used again.
func (c *deviceChange) remove() {
	number := int16(c.record.Number)
	c.tx.Queue(sqlRemoveDevice, number, c.record.ID, c.device.Revision)
	c.tx.Queue(sqlDemandRemoved, number, c.record.ID)
	queueEvents(c.tx, c.now, event{c.record, c.device.Revision + 1, DeviceRemoved, c.device.fields(), Actor{Kind: ActorHoldfast}})
}

// changeLink runs a statement on the link of an account to a device, in the
// account's bucket; args begin at $5.
func (s *Service) changeLink(ctx context.Context, tenant domain.TenantID, sql string, account domain.AccountID, device domain.DeviceID, args ...any) error {
	record := accountRef(account)
	number := int16(record.Number)
	return tenancy.Run(ctx, s.router.Database(record.Number), s.entry(tenant, []int16{number}), func(_ context.Context, tx *tenancy.Tx) error {
		tx.Queue(sql, append([]any{number, account, device}, args...)...)
		return nil
	})
}
