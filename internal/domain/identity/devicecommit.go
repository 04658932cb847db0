package identity

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// creatingDevice is step 3 for a new device, its only commit point: write the
// record at revision 1 and clear the operation.
//
// A crash before it leaves an operation that is aborted after its deadline; a
// crash behind it leaves the finished device, and a caller that was not told.
type creatingDevice struct {
	*newDevice
	op *operation // claimsUntil is when the code expires

	committed bool
	removed   bool // there was such a device, of which only events are left
}

// A device that is there makes the statement fail, and with it the transaction.
const sqlInsertDevices = `
INSERT INTO devices (tenant_id, number, device_id, revision, status, account_id, label, client_id, scopes,
                     user_code, user_code_token, expires_at, secret_hash, server_key_id,
                     poll_interval, refresh_generation, fingerprint, created_at, updated_at, approved_at)
SELECT $1, d.number, d.device_id, 1, d.status, d.account_id, d.label, d.client_id, string_to_array(d.scopes, ' '),
       d.user_code, d.user_code_token, d.expires_at, d.secret_hash, d.server_key_id,
       $2, 0, d.fingerprint, d.created_at, $3, d.approved_at
  FROM unnest($4::smallint[], $5::uuid[], $6::text[], $7::uuid[], $8::text[], $9::uuid[], $10::text[],
              $11::text[], $12::uuid[], $13::timestamptz[], $14::bytea[], $15::text[],
              $16::bytea[], $17::timestamptz[], $18::timestamptz[])
       AS d (number, device_id, status, account_id, label, client_id, scopes,
             user_code, user_code_token, expires_at, secret_hash, server_key_id,
             fingerprint, created_at, approved_at)`

// sqlDemandCleared holds the operations to what their commit makes of them:
// gone.
const sqlDemandCleared = `
SELECT demand(count(o.token) = 0)
  FROM unnest($2::smallint[], $3::text[], $4::uuid[], $5::uuid[]) AS p (number, family, record_id, token)
 CROSS JOIN LATERAL (SELECT o.token FROM operations o
                      WHERE o.tenant_id = $1 AND o.number = p.number AND o.family = p.family
                        AND o.record_id = p.record_id AND o.token = p.token LIMIT 1) o`

// sqlRemovedDevices tells which devices there were before: prepare found none
// there, so those that have events were removed. The order keeps the search on the
// device's own events, when the plan is made while there are few.
const sqlRemovedDevices = `
SELECT p.record_id
  FROM unnest($2::smallint[], $3::uuid[]) AS p (number, record_id)
 CROSS JOIN LATERAL (SELECT e.revision FROM events e
                      WHERE e.tenant_id = $1 AND e.number = p.number AND e.family = 'device'
                        AND e.record_id = p.record_id AND e.revision > 0
                      ORDER BY e.revision LIMIT 1) e`

func (s *Service) createDevices(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*creatingDevice) error {
	slices.SortFunc(all, func(a, b *creatingDevice) int { return compareRefs(a.op.record, b.op.record) })
	var asked operationColumns
	for _, c := range all {
		c.committed, c.removed = false, false
		asked.add(c.op)
	}
	var chosen []*creatingDevice
	var committedAt time.Time
	err := tenancy.Run(ctx, db, s.entry(tenant, asked.numbers), func(ctx context.Context, tx *tenancy.Tx) error {
		queueRemoved(tx, all)
		mine, now, err := lockPrepared(ctx, tx, &asked)
		if err != nil {
			return err
		}
		var rows deviceColumnsOf
		var done operationColumns
		for _, c := range all {
			standing, found := mine[c.op.token]
			if !found || standing.overdue(now) || c.removed {
				continue
			}
			chosen = append(chosen, c)
			rows.add(c.committedAt(now))
			done.add(c.op)
		}
		if len(chosen) == 0 {
			return nil
		}
		committedAt = now
		rows.queue(tx, now)
		for _, c := range chosen {
			tx.Queue(sqlClearPrepared, int16(c.op.record.Number), c.op.record.Family, c.op.record.ID, c.op.token)
		}
		tx.Queue(sqlDemandCleared, done.numbers, done.families, done.records, done.tokens)
		queueEvents(tx, now, devicesCreated(chosen)...)
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range chosen {
		c.committed = true
		c.device = c.committedAt(committedAt)
	}
	return nil
}

// queueRemoved looks for what is left of devices whose id may have been used
// before: that of a repeatable request.
func queueRemoved(tx *tenancy.Tx, all []*creatingDevice) {
	var numbers []int16
	var records [][16]byte
	byRecord := map[domain.RecordID]*creatingDevice{}
	for _, c := range all {
		if c.op.fingerprint != nil {
			numbers = append(numbers, int16(c.op.record.Number))
			records = append(records, c.op.record.ID)
			byRecord[c.op.record.ID] = c
		}
	}
	if len(numbers) == 0 {
		return
	}
	tx.Queue(sqlRemovedDevices, numbers, records).Query(func(rows pgx.Rows) error {
		var id domain.RecordID
		_, err := pgx.ForEachRow(rows, []any{&id}, func() error {
			byRecord[id].removed = true
			return nil
		})
		return err
	})
}

// committedAt is the new device as its commit writes it.
func (c *creatingDevice) committedAt(now time.Time) *deviceRow {
	d := *c.device
	d.Revision, d.UpdatedAt, d.ExpiresAt = 1, now, c.op.claimsUntil
	d.Scopes = append([]string{}, d.Scopes...) // as it is read again: empty, and not nil
	d.CreatedAt = earlier(orNil(d.CreatedAt), now)
	if d.Status == DeviceApproved {
		at := earlier(d.ApprovedAt, now)
		if d.ApprovedAt == nil {
			at = d.CreatedAt
		}
		d.ApprovedAt = &at
	}
	return &d
}

func devicesCreated(all []*creatingDevice) []event {
	events := make([]event, len(all))
	for i, c := range all {
		events[i] = event{c.op.record, 1, DeviceCreated, c.device.fields(), c.actor}
	}
	return events
}

// deviceColumnsOf are new devices as columns, for unnest.
type deviceColumnsOf struct {
	numbers                    []int16
	ids                        [][16]byte
	accounts, clients, tokens  []*[16]byte
	statuses, scopes           []string
	labels, codes, serverKeys  []*string
	secretHashes, fingerprints [][]byte
	createdAts                 []time.Time
	expiresAts, approvedAts    []*time.Time
}

func (c *deviceColumnsOf) add(d *deviceRow) {
	c.numbers = append(c.numbers, int16(deviceRef(d.ID).Number))
	c.ids = append(c.ids, d.ID)
	c.accounts = append(c.accounts, orNil([16]byte(d.Account)))
	c.clients = append(c.clients, orNil([16]byte(d.Client)))
	c.tokens = append(c.tokens, orNil([16]byte(d.userCodeToken)))
	c.statuses = append(c.statuses, string(d.Status))
	c.scopes = append(c.scopes, strings.Join(d.Scopes, " "))
	c.labels = append(c.labels, d.Label)
	c.codes = append(c.codes, orNil(d.UserCode.Key()))
	c.serverKeys = append(c.serverKeys, orNil(d.serverKeyID))
	c.secretHashes = append(c.secretHashes, d.secretHash)
	c.fingerprints = append(c.fingerprints, d.fingerprint)
	c.createdAts = append(c.createdAts, d.CreatedAt)
	c.expiresAts = append(c.expiresAts, d.ExpiresAt)
	c.approvedAts = append(c.approvedAts, d.ApprovedAt)
}

func (c *deviceColumnsOf) queue(tx *tenancy.Tx, now time.Time) {
	tx.Queue(sqlInsertDevices, int16(PollInterval/time.Second), now,
		c.numbers, c.ids, c.statuses, c.accounts, c.labels, c.clients, c.scopes,
		c.codes, c.tokens, c.expiresAts, c.secretHashes, c.serverKeys,
		c.fingerprints, c.createdAts, c.approvedAts)
}
