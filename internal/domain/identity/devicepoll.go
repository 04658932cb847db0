package identity

import (
	"context"
	"crypto/subtle"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// The refusals of the device flow (RFC 8628, section 3.5; RFC 6749, section 5.2).
var (
	errPending = &tenancy.GrantError{Code: tenancy.GrantAuthorizationPending,
		Description: "Nobody has approved the device yet. Poll again."}
	errSlowDown = &tenancy.GrantError{Code: tenancy.GrantSlowDown,
		Description: "Nobody has approved the device yet. Poll less often, by five seconds more between polls from now on."}
	errAccessDenied = &tenancy.GrantError{Code: tenancy.GrantAccessDenied,
		Description: "The device was turned away."}
	errCodeExpired = &tenancy.GrantError{Code: tenancy.GrantExpiredToken,
		Description: "The device code has expired. Ask for another."}
	errInvalidGrant = &tenancy.GrantError{Code: tenancy.GrantInvalidGrant,
		Description: "The code or token is not one of this client's, has been used, or was revoked. Begin again."}
)

// PollDevice asks whether the device has been approved, and redeems its code if
// so (RFC 8628, section 3.4): once, by one of any number of polls at once. The
// client is one that Tokens vouched for just now.
//
// Errors: *tenancy.GrantError authorization_pending, slow_down, access_denied,
// expired_token, invalid_grant; unavailable; outcome unknown, after which the
// code may have been redeemed, and is not redeemed again.
func (s *Service) PollDevice(ctx context.Context, client tenancy.Client, code string) (Redeemed, error) {
	c, ok := parseDeviceCode(code)
	if !ok {
		return Redeemed{}, errInvalidGrant
	}
	p := &polling{record: deviceRef(c.device), secretHash: hashSecret(c.secret[:]), client: client.ID}
	if err := s.polling.Do(ctx, s.router.Database(p.record.Number), client.Tenant, p); err != nil {
		return Redeemed{}, nothingHappened(err)
	}
	if p.refusal != nil {
		return Redeemed{}, p.refusal
	}
	return s.redeem(ctx, client, c.device, p.account)
}

// polling is one poll of a device. Polls are what a device does most, so they
// share transactions, and none waits for the disk: what a crash of the database
// loses of them is how fast a device has polled.
type polling struct {
	record     ref
	secretHash []byte
	client     domain.ClientID

	refusal *tenancy.GrantError // nil if the device is approved, and to be redeemed
	account domain.AccountID    // whose the approved device is
}

// Rows are locked in key order.
const sqlLockDevices = `
SELECT ` + deviceColumns + `
  FROM unnest($2::smallint[], $3::uuid[]) AS p (number, device_id)
 CROSS JOIN LATERAL (SELECT d.* FROM devices d
                      WHERE d.tenant_id = $1 AND d.number = p.number AND d.device_id = p.device_id
                        FOR NO KEY UPDATE) d`

// One statement a row keeps each on its key.
const sqlPaceDevice = `
UPDATE devices SET poll_interval = $4, polled_at = $5, paced_at = $6
 WHERE tenant_id = $1 AND number = $2 AND device_id = $3 AND status = 'pending'`

func (s *Service) pollAll(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*polling) error {
	slices.SortFunc(all, func(a, b *polling) int { return compareRefs(a.record, b.record) })
	var numbers []int16
	var ids [][16]byte
	for i, p := range all {
		if i == 0 || p.record != all[i-1].record {
			numbers, ids = append(numbers, int16(p.record.Number)), append(ids, p.record.ID)
		}
	}
	e := s.entry(tenant, numbers)
	e.Unsynced = true
	return tenancy.Run(ctx, db, e, func(ctx context.Context, tx *tenancy.Tx) error {
		devices, now, err := lockDevices(ctx, tx, numbers, ids)
		if err != nil {
			return err
		}
		for _, p := range all {
			p.judge(devices[p.record.ID], now)
		}
		for i, id := range ids {
			if d := devices[id]; d != nil && d.polledAt != nil && d.Status == DevicePending {
				tx.Queue(sqlPaceDevice, numbers[i], id, int16(d.pollInterval/time.Second), d.polledAt, d.pacedAt)
			}
		}
		return nil
	})
}

func lockDevices(ctx context.Context, tx *tenancy.Tx, numbers []int16, ids [][16]byte) (map[domain.RecordID]*deviceRow, time.Time, error) {
	devices := make(map[domain.RecordID]*deviceRow, len(ids))
	var now time.Time
	tx.Queue(sqlLockDevices, numbers, ids).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			d, err := scanDevice(rows)
			if err != nil {
				return err
			}
			devices[domain.RecordID(d.ID)] = d
		}
		return rows.Err()
	})
	tx.QueueNow(&now)
	err := tx.Send(ctx)
	return devices, now, err
}

// judge answers a poll of a device under its lock, and moves the device's pace.
func (p *polling) judge(d *deviceRow, now time.Time) {
	p.refusal, p.account = nil, domain.AccountID{}
	switch {
	case d == nil || !d.redeemableBy(p.client, p.secretHash):
		p.refusal = errInvalidGrant
	case d.Status == DeviceDenied:
		p.refusal = errAccessDenied
	case d.Status == DeviceRevoked || d.RedeemedAt != nil:
		p.refusal = errInvalidGrant
	case !d.codeLives(now):
		p.refusal = errCodeExpired
	case d.Status == DeviceApproved:
		p.account = d.Account
	default:
		p.refusal = d.pollAt(now)
	}
}

// redeemableBy tells, in constant time, whether the client shows the device's
// code.
func (d *deviceRow) redeemableBy(client domain.ClientID, secretHash []byte) bool {
	return subtle.ConstantTimeCompare(d.secretHash, secretHash)&
		subtle.ConstantTimeCompare(d.Client[:], client[:]) == 1
}

func (d *deviceRow) pollAt(now time.Time) *tenancy.GrantError {
	next, early := pace{d.pollInterval, d.polledAt, d.pacedAt}.poll(now)
	d.pollInterval, d.polledAt, d.pacedAt = next.interval, next.polledAt, next.pacedAt
	if early {
		return errSlowDown
	}
	return errPending
}
