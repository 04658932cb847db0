package identity

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// sqlLeaveEra takes a number's stream on to its next era, once a restore. A number
// of which the tenant has no events has a stream too: those of the lost time may
// have been its first. 2^40 is domain.NextEra's.
const sqlLeaveEra = `
INSERT INTO event_counters AS c (tenant_id, number, last, restored, restore_id)
VALUES ($1, $2, 1099511627776, 0, $3)
ON CONFLICT (tenant_id, number) DO UPDATE SET last = ((c.last >> 40) + 1) << 40, restored = c.last, restore_id = excluded.restore_id
 WHERE c.restore_id IS DISTINCT FROM excluded.restore_id`

func (c *reconciliation) leaveEras(ctx context.Context) error {
	for _, n := range c.Restored.List() {
		err := tenancy.Run(ctx, c.s.router.Database(n), c.s.entry(c.Tenant, []int16{int16(n)}), func(_ context.Context, tx *tenancy.Tx) error {
			tx.Queue(sqlLeaveEra, int16(n), c.Restored[n])
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// era is the family's part in taking records on to revisions that nobody has seen.
type era struct {
	family    domain.Family
	kind      EventKind
	lock, set string
}

// The revisions of the lost time were given out as ETags. So each record that
// somebody may change comes to the revision of the next era that has its own
// revision's lower bits; its stream's counter, $3, is there already.
const (
	sqlLockOldAccounts = `
SELECT a.account_id, a.revision, c.last FROM accounts a
 CROSS JOIN LATERAL (SELECT c.last FROM event_counters c WHERE c.tenant_id = $1 AND c.number = $2 LIMIT 1) c
 WHERE a.tenant_id = $1 AND a.number = $2 AND a.account_id > $3 AND a.status <> 'deleted' AND a.revision >> 40 < c.last >> 40
 ORDER BY a.account_id LIMIT $4
   FOR NO KEY UPDATE OF a`
	sqlLockOldDevices = `
SELECT d.device_id, d.revision, c.last FROM devices d
 CROSS JOIN LATERAL (SELECT c.last FROM event_counters c WHERE c.tenant_id = $1 AND c.number = $2 LIMIT 1) c
 WHERE d.tenant_id = $1 AND d.number = $2 AND d.device_id > $3 AND d.revision >> 40 < c.last >> 40
 ORDER BY d.device_id LIMIT $4
   FOR NO KEY UPDATE OF d`
	sqlTakeAccountOn = `UPDATE accounts SET revision = $4, updated_at = $5 WHERE tenant_id = $1 AND number = $2 AND account_id = $3 AND revision < $4`
	sqlTakeDeviceOn  = `UPDATE devices SET revision = $4, updated_at = $5 WHERE tenant_id = $1 AND number = $2 AND device_id = $3 AND revision < $4`
)

func (c *reconciliation) newRevisions(ctx context.Context) error {
	for _, n := range c.Restored.List() {
		for _, e := range []era{
			{domain.FamilyAccount, AccountRestored, sqlLockOldAccounts, sqlTakeAccountOn},
			{domain.FamilyDevice, DeviceRestored, sqlLockOldDevices, sqlTakeDeviceOn},
		} {
			if err := c.takeOn(ctx, n, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeOn takes a family's records of a number on, a page in a transaction.
func (c *reconciliation) takeOn(ctx context.Context, n domain.Number, e era) error {
	var after domain.RecordID
	for {
		var taken int
		err := tenancy.Run(ctx, c.s.router.Database(n), c.s.entry(c.Tenant, []int16{int16(n)}), func(ctx context.Context, tx *tenancy.Tx) error {
			var events []event
			var now time.Time
			tx.Queue(e.lock, int16(n), after, c.page).Query(func(rows pgx.Rows) error {
				var id domain.RecordID
				var revision, last int64
				_, err := pgx.ForEachRow(rows, []any{&id, &revision, &last}, func() error {
					next := domain.EraStart(last) + revision - domain.EraStart(revision)
					events = append(events, event{refTo(e.family, id), next, e.kind, nil, Actor{Kind: ActorHoldfast}})
					return nil
				})
				return err
			})
			tx.QueueNow(&now)
			if err := tx.Send(ctx); err != nil {
				return err
			}
			for _, of := range events {
				tx.Queue(e.set, int16(n), of.record.ID, of.revision, now)
			}
			if taken = len(events); taken > 0 {
				after = events[taken-1].record.ID
				queueEvents(tx, now, events...)
			}
			return nil
		})
		if err != nil {
			return err
		}
		c.done.Records += int64(taken)
		if taken < c.page {
			return nil
		}
	}
}
