package identity

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// reading is what stands in a record's bucket: the committed record, the
// operation beside it, and the clock they were read at.
type reading struct {
	record ref
	// light leaves out the operation, for readers to whom only the committed
	// record counts.
	light bool

	account   *accountRow // nil if there is none, or the record is a device
	device    *deviceRow  // nil if there is none, or the record is an account
	operation *operation  // nil if there is none
	now       time.Time   // zero for a light reading
}

// exists tells whether the record is committed, or a tombstone.
func (r *reading) exists() bool { return r.account != nil || r.device != nil }

// visible tells whether a reader may see the record.
func (r *reading) visible() bool { return r.device != nil || r.account.visible() }

// holds tells whether the record stands for a claim.
func (r *reading) holds(claim link) bool {
	switch {
	case r.account != nil:
		return r.account.holds(claim, r.now)
	case r.device != nil:
		return r.device.holds(claim, r.now)
	default:
		return false
	}
}

const sqlReadAccounts = `
SELECT p.ordinal, ` + accountColumns + `
  FROM unnest($2::smallint[], $3::uuid[]) WITH ORDINALITY AS p (number, account_id, ordinal)
 CROSS JOIN LATERAL (SELECT a.* FROM accounts a
                      WHERE a.tenant_id = $1 AND a.number = p.number AND a.account_id = p.account_id LIMIT 1) a`

const sqlReadDevices = `
SELECT p.ordinal, ` + deviceColumns + `
  FROM unnest($2::smallint[], $3::uuid[]) WITH ORDINALITY AS p (number, device_id, ordinal)
 CROSS JOIN LATERAL (SELECT d.* FROM devices d
                      WHERE d.tenant_id = $1 AND d.number = p.number AND d.device_id = p.device_id LIMIT 1) d`

const sqlReadOperations = `
SELECT p.ordinal, o.token, o.state, o.deadline, o.new_links, o.old_links, o.fingerprint, o.traceparent
  FROM unnest($2::smallint[], $3::text[], $4::uuid[]) WITH ORDINALITY AS p (number, family, record_id, ordinal)
 CROSS JOIN LATERAL (SELECT o.* FROM operations o
                      WHERE o.tenant_id = $1 AND o.number = p.number AND o.family = p.family
                        AND o.record_id = p.record_id LIMIT 1) o`

func (s *Service) readAll(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*reading) error {
	var numbers []int16
	light := true
	for _, r := range all {
		r.account, r.device, r.operation = nil, nil, nil
		numbers = append(numbers, int16(r.record.Number))
		light = light && r.light
	}
	e := s.entry(tenant, numbers)
	e.ReadOnly = true
	var now time.Time
	err := tenancy.Run(ctx, db, e, func(ctx context.Context, tx *tenancy.Tx) error {
		if !light {
			// The operation is read before the record: a commit in between then
			// shows as a standing operation beside the new record, never as no
			// operation beside the old one.
			queueOperations(tx, all)
			tx.QueueNow(&now)
		}
		queueRecords(tx, all)
		return nil
	})
	for _, r := range all {
		r.now = now
	}
	return err
}

// read is one reading, in a shared transaction.
func (s *Service) read(ctx context.Context, tenant domain.TenantID, record ref, light bool) (*reading, error) {
	r := &reading{record: record, light: light}
	if err := s.reading.Do(ctx, s.router.Database(record.Number), tenant, r); err != nil {
		return nil, err // r may still be written to, for a caller that went away
	}
	return r, nil
}

// queueRecords reads each record from its family's table.
func queueRecords(tx *tenancy.Tx, all []*reading) {
	var accounts, devices []*reading
	for _, r := range all {
		if r.record.Family == domain.FamilyDevice {
			devices = append(devices, r)
		} else {
			accounts = append(accounts, r)
		}
	}
	if len(accounts) > 0 {
		queueAccounts(tx, accounts)
	}
	if len(devices) > 0 {
		queueDevices(tx, devices)
	}
}

func queueDevices(tx *tenancy.Tx, all []*reading) {
	numbers, _, records := refColumns(all)
	tx.Queue(sqlReadDevices, numbers, records).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var ordinal int64
			device, err := scanDevice(rows, &ordinal)
			if err != nil {
				return err
			}
			all[ordinal-1].device = device
		}
		return rows.Err()
	})
}

func queueAccounts(tx *tenancy.Tx, all []*reading) {
	numbers, _, records := refColumns(all)
	tx.Queue(sqlReadAccounts, numbers, records).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var ordinal int64
			account, err := scanAccount(rows, &ordinal)
			if err != nil {
				return err
			}
			all[ordinal-1].account = account
		}
		return rows.Err()
	})
}

func queueOperations(tx *tenancy.Tx, all []*reading) {
	numbers, families, records := refColumns(all)
	tx.Queue(sqlReadOperations, numbers, families, records).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var ordinal int64
			var o operation
			if err := rows.Scan(&ordinal, &o.token, &o.state, &o.deadline,
				&o.newLinks, &o.oldLinks, &o.fingerprint, &o.traceparent); err != nil {
				return err
			}
			o.record = all[ordinal-1].record
			all[ordinal-1].operation = &o
		}
		return rows.Err()
	})
}

// refColumns are the records as columns, for unnest.
func refColumns(all []*reading) (numbers []int16, families []string, records [][16]byte) {
	for _, r := range all {
		numbers = append(numbers, int16(r.record.Number))
		families = append(families, string(r.record.Family))
		records = append(records, r.record.ID)
	}
	return numbers, families, records
}
