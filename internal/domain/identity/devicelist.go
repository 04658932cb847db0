package identity

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// DevicePage is a page of an account's devices. Next is nil on the last one.
type DevicePage struct {
	Devices []Device
	Next    *domain.DeviceID // the last device of the page
}

const sqlAccountLinks = `
SELECT l.device_id FROM account_devices l
 WHERE l.tenant_id = $1 AND l.number = $2 AND l.account_id = $3 AND l.device_id > $4
 ORDER BY l.device_id
 LIMIT $5`

// AccountDevices walks the devices that are, or were, an account's, by id, from
// after on; of one status, or of all. It reads the links in the account's bucket
// and then the devices themselves, and shows those that agree. Every device that
// is the account's throughout the walk is in exactly one page; pages are filled.
//
// Errors: not found account_not_found, unavailable.
func (s *Service) AccountDevices(ctx context.Context, scope tenancy.Scope, account domain.AccountID, status *DeviceStatus, after domain.DeviceID, limit int) (DevicePage, error) {
	limit = min(max(limit, 1), MaxPage)
	var page DevicePage
	for {
		links, err := s.linksOf(ctx, scope.Tenant, account, after, limit+1)
		if err != nil {
			return DevicePage{}, err
		}
		devices, err := s.devicesOf(ctx, scope.Tenant, account, links)
		if err != nil {
			return DevicePage{}, err
		}
		for _, d := range devices {
			if status != nil && d.Status != *status {
				continue
			}
			if len(page.Devices) == limit {
				last := page.Devices[limit-1].ID
				page.Next = &last
				return page, nil
			}
			page.Devices = append(page.Devices, d)
		}
		if len(links) <= limit {
			return page, nil
		}
		after = links[limit]
	}
}

// linksOf reads a page of an account's links.
func (s *Service) linksOf(ctx context.Context, tenant domain.TenantID, account domain.AccountID, after domain.DeviceID, limit int) (links []domain.DeviceID, err error) {
	owner := &reading{record: accountRef(account)}
	number := int16(owner.record.Number)
	e := s.entry(tenant, []int16{number})
	e.ReadOnly = true
	err = tenancy.Run(ctx, s.router.Database(owner.record.Number), e, func(ctx context.Context, tx *tenancy.Tx) error {
		queueRecords(tx, []*reading{owner})
		tx.Queue(sqlAccountLinks, number, account, after, limit).Query(func(rows pgx.Rows) (err error) {
			links, err = pgx.CollectRows(rows, pgx.RowTo[domain.DeviceID])
			return err
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !owner.account.visible() {
		return nil, errNoAccount
	}
	return links, nil
}

// devicesOf reads the devices that are the account's, in the order given.
func (s *Service) devicesOf(ctx context.Context, tenant domain.TenantID, account domain.AccountID, ids []domain.DeviceID) ([]Device, error) {
	readings := make([]*reading, len(ids))
	for i, id := range ids {
		readings[i] = &reading{record: deviceRef(id), light: true}
	}
	err := onDatabases(readings, func(r *reading) *postgres.Database { return s.router.Database(r.record.Number) },
		func(db *postgres.Database, some []*reading) error { return s.reading.Do(ctx, db, tenant, some...) })
	if err != nil {
		return nil, err
	}
	var devices []Device
	for _, r := range readings {
		if r.device != nil && r.device.Account == account {
			devices = append(devices, r.device.Device)
		}
	}
	return devices, nil
}
