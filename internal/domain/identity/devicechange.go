package identity

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

var (
	// errNoDevice is the answer for an id that is random, another tenant's, not
	// committed yet, or removed: one and the same.
	errNoDevice    = domain.NotFound("device_not_found", "There is no device with this id.")
	errDeviceStale = domain.PreconditionFailed("revision_stale",
		"The device has changed since you read it. Read it again and repeat the change with its new ETag.")
)

// sqlLockDevice locks the row that decides. A poll moves its pace under the same
// lock, and nothing else of it.
const sqlLockDevice = `
SELECT ` + deviceColumns + ` FROM devices d
 WHERE d.tenant_id = $1 AND d.number = $2 AND d.device_id = $3
   FOR NO KEY UPDATE`

// sqlDemandDevice holds the device to the revision that was decided. The row is
// locked, so what it sees is what this transaction wrote.
const sqlDemandDevice = `
SELECT demand(count(*) = 1) FROM devices
 WHERE tenant_id = $1 AND number = $2 AND device_id = $3 AND revision = $4`

// changeDevice is one decision in a device's bucket: decide is given the locked
// device and the clock, and queues what it writes. A device that isn't there is
// errNoDevice.
func (s *Service) changeDevice(ctx context.Context, tenant domain.TenantID, id domain.DeviceID,
	decide func(c *deviceChange) error) error {
	record := deviceRef(id)
	return tenancy.Run(ctx, s.router.Database(record.Number), s.entry(tenant, []int16{int16(record.Number)}),
		func(ctx context.Context, tx *tenancy.Tx) error {
			d, now, err := lockDevice(ctx, tx, record)
			if err != nil {
				return err
			}
			return decide(&deviceChange{tx: tx, record: record, device: d, now: now})
		})
}

// deviceChange is a device under its lock.
type deviceChange struct {
	tx     *tenancy.Tx
	record ref
	device *deviceRow
	now    time.Time
}

// commit queues a statement that makes the device's next revision, and what goes
// with it. The statement's $5 is that revision; args begin at $6.
func (c *deviceChange) commit(sql string, kind EventKind, fields []string, actor Actor, args ...any) {
	number, next := int16(c.record.Number), c.device.Revision+1
	c.tx.Queue(sql, append([]any{number, c.record.ID, c.device.Revision, next}, args...)...)
	c.tx.Queue(sqlDemandDevice, number, c.record.ID, next)
	queueEvents(c.tx, c.now, event{c.record, next, kind, fields, actor})
	c.device.Revision, c.device.UpdatedAt = next, c.now
}

// lockDevice locks and reads a device, and then the clock, which is never earlier
// than the last change.
func lockDevice(ctx context.Context, tx *tenancy.Tx, record ref) (*deviceRow, time.Time, error) {
	var d *deviceRow
	var now time.Time
	tx.Queue(sqlLockDevice, int16(record.Number), record.ID).Query(func(rows pgx.Rows) (err error) {
		for rows.Next() {
			if d, err = scanDevice(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	tx.QueueNow(&now)
	if err := tx.Send(ctx); err != nil {
		return nil, now, err
	}
	if d == nil {
		return nil, now, errNoDevice
	}
	if now.Before(d.UpdatedAt) {
		now = d.UpdatedAt
	}
	return d, now, nil
}

// GetDevice reads the committed device. Errors: not found, unavailable, the
// gates' refusals.
func (s *Service) GetDevice(ctx context.Context, scope tenancy.Scope, id domain.DeviceID) (Device, error) {
	r, err := s.read(ctx, scope.Tenant, deviceRef(id), true)
	if err != nil {
		return Device{}, err
	}
	if r.device == nil {
		return Device{}, errNoDevice
	}
	return r.device.Device, nil
}

// DevicePatch changes what is no lookup key. A nil field stays as it is.
type DevicePatch struct {
	Label **string // a pointer to nil removes the label
}

const sqlPatchDevice = `
UPDATE devices SET revision = $5, updated_at = $6, label = $7
 WHERE tenant_id = $1 AND number = $2 AND device_id = $3 AND revision = $4`

// PatchDevice changes a device that is still at the revision given.
//
// Errors: precondition failed on another revision, not found, invalid.
func (s *Service) PatchDevice(ctx context.Context, scope tenancy.Scope, id domain.DeviceID, revision int64, patch DevicePatch) (Device, error) {
	if patch.Label != nil {
		if err := checkLabel(*patch.Label); err != nil {
			return Device{}, err
		}
	}
	var changed Device
	err := s.changeDevice(ctx, scope.Tenant, id, func(c *deviceChange) error {
		if c.device.Revision != revision {
			return errDeviceStale
		}
		var fields []string
		if patch.Label != nil {
			c.device.Label, fields = *patch.Label, []string{"label"}
		}
		c.commit(sqlPatchDevice, DeviceChanged, fields, principalActor(scope), c.now, c.device.Label)
		changed = c.device.Device
		return nil
	})
	return changed, err
}
