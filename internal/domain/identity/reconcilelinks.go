package identity

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// approvedDevices gives approved devices the links that they lack, where device or
// account was put back, and revokes those whose account is gone.
func (c *reconciliation) approvedDevices(ctx context.Context, r *inspectedRun) error {
	return walk(ctx, r, sqlCheckDevices, []any{domain.DeviceID{}}, scanCheckedDevice, func(ctx context.Context, page []checkedDevice, _ time.Time) error {
		var approved []*approval
		var accounts []*reading
		for _, d := range page {
			account := accountRef(d.Account)
			if d.Status == DeviceApproved && (c.Restored.Has(d.number) || c.Restored.Has(account.Number)) {
				approved = append(approved, &approval{device: d.deviceRow})
				accounts = append(accounts, &reading{record: account})
			}
		}
		if err := c.read(ctx, accounts); err != nil {
			return err
		}
		home := func(a *approval) *postgres.Database { return c.s.router.Database(a.account().Number) }
		if err := onDatabases(approved, home, func(db *postgres.Database, some []*approval) error { return r.findLinks(ctx, db, some) }); err != nil {
			return err
		}
		for i, a := range approved {
			if err := c.keepDevice(ctx, a, accounts[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *reconciliation) keepDevice(ctx context.Context, a *approval, account *reading) error {
	switch {
	case !account.account.visible():
		// Before anything of it is lost: the account's devices are found by their links.
		err := c.s.revokeOrphan(ctx, c.Tenant, a.device.ID, a.device.Account)
		if err == nil {
			c.done.DevicesRevoked++
		}
		return err
	case !a.unlinked:
		return nil
	}
	err := c.s.changeAccount(ctx, c.Tenant, a.account(), needs{}, func(locked *lockedAccount) error {
		locked.queue(sqlLinkDevice, a.device.ID, locked.now)
		locked.queue(sqlConfirmLink, a.device.ID)
		return nil
	})
	if errors.Is(err, errNoAccount) {
		return nil // the next look revokes the device
	}
	if err == nil {
		c.done.LinksMade++
	}
	return err
}

const sqlReconcileLinks = `
SELECT l.number, l.account_id, l.device_id, l.confirmed FROM account_devices l
 WHERE l.tenant_id = $1 AND l.number BETWEEN $4 AND $2 AND (l.number, l.account_id, l.device_id) > ($4, $5, $6)
 ORDER BY l.number, l.account_id, l.device_id
 LIMIT $3`

// doubtfulLinks has the cleanup look at links whose device isn't there, or isn't the
// account's, as far as either was put back. Nobody is shown such a link.
func (c *reconciliation) doubtfulLinks(ctx context.Context, r *inspectedRun) error {
	scan := func(row pgx.CollectableRow) (b checkedBeside, err error) {
		err = row.Scan(&b.stands, &b.account, &b.device, &b.exists) // exists: it is confirmed
		return b, err
	}
	return walk(ctx, r, sqlReconcileLinks, []any{domain.AccountID{}, domain.DeviceID{}}, scan, func(ctx context.Context, page []checkedBeside, _ time.Time) error {
		var links []checkedBeside
		var devices []*reading
		for _, b := range page {
			device := deviceRef(b.device)
			if b.exists && (c.Restored.Has(b.stands) || c.Restored.Has(device.Number)) {
				links, devices = append(links, b), append(devices, &reading{record: device})
			}
		}
		if err := c.read(ctx, devices); err != nil {
			return err
		}
		for i, b := range links {
			if d := devices[i].device; d != nil && d.Account == b.account {
				continue
			}
			if err := c.s.changeLink(ctx, c.Tenant, sqlDoubtLink, b.account, b.device); err != nil {
				return err
			}
			c.done.LinksDoubted++
		}
		return nil
	})
}
