package identity

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// keptEvents are a record's events, of the moment that it was read.
type keptEvents struct {
	count       int64
	first, last int64 // revisions; 0 if there are none
}

// dense tells that no event is missing between the first and the last. A restore
// takes a revision on by whole eras, with an event at where it comes to.
func (k keptEvents) dense() bool {
	missing := k.last - k.first + 1 - k.count
	leaps := domain.NextEra(missing) - missing // as many as make whole eras of it
	return missing == 0 || missing > 0 && leaps < k.count
}

// checkedAccount is an account's row with what stands beside it.
type checkedAccount struct {
	*accountRow
	number   domain.Number // where it stands
	changing bool          // an email change is pending
	events   keptEvents
}

func (a checkedAccount) place() []any { return []any{int16(a.number), a.ID} }

// The events are asked for in their order to keep the search on the record's own,
// when the plan is made while there are few.
const sqlCheckAccounts = `
SELECT a.number, EXISTS (SELECT FROM email_changes m WHERE m.tenant_id = $1 AND m.number = a.number AND m.account_id = a.account_id),
       e.kept, e.first, e.last, ` + accountColumns + `
  FROM (SELECT a.* FROM accounts a
         WHERE a.tenant_id = $1 AND a.number BETWEEN $4 AND $2 AND (a.number, a.account_id) > ($4, $5)
         ORDER BY a.number, a.account_id LIMIT $3) a
 CROSS JOIN LATERAL (SELECT count(*) AS kept, coalesce(min(e.revision), 0) AS first, coalesce(max(e.revision), 0) AS last
                       FROM (SELECT e.revision FROM events e
                              WHERE e.tenant_id = $1 AND e.number = a.number AND e.family = 'account' AND e.record_id = a.account_id
                              ORDER BY e.revision OFFSET 0) e) e
 ORDER BY a.number, a.account_id`

func (r *inspectedRun) accounts(ctx context.Context) error {
	scan := func(row pgx.CollectableRow) (a checkedAccount, err error) {
		a.accountRow, err = scanAccount(row, &a.number, &a.changing, &a.events.count, &a.events.first, &a.events.last)
		return a, err
	}
	return walk(ctx, r, sqlCheckAccounts, []any{domain.AccountID{}}, scan, func(ctx context.Context, page []checkedAccount, now time.Time) error {
		var held []ownedKey
		for _, a := range page {
			record := accountRef(a.ID)
			r.count(func(t *tally) { t.add(record.Family, string(a.Status), a.links()) })
			r.digests[a.number].account(a.accountRow)
			if a.number != record.Number {
				if err := r.misplaced(record.Family, a.number, a.ID.String(), record.ID); err != nil {
					return err
				}
				continue
			}
			if err := r.entombed(a); err != nil {
				return err
			}
			if err := r.history(record, a.Revision, a.CreatedAt, a.UpdatedAt, a.events, now); err != nil {
				return err
			}
			for _, l := range a.links() {
				if a.Status == deleted && l.Family == domain.FamilyEmail {
					continue // which must not be there at all
				}
				if a.holds(l, now.Add(clockMargin)) {
					held = append(held, ownedKey{record, l})
				}
			}
		}
		return r.keys(ctx, held)
	})
}

// entombed holds a tombstone to its silence.
func (r *inspectedRun) entombed(a checkedAccount) error {
	if a.Status != deleted || a.Email.IsZero() && a.EmailVerifiedAt == nil && a.DisplayName == nil && string(a.Attributes) == "{}" && !a.changing {
		return nil
	}
	return r.tell(Violation{Kind: TombstoneSpeaks, Database: r.db.Name, Family: domain.FamilyAccount, Number: a.number, Record: domain.RecordID(a.ID),
		Detail: "The account was deleted, and an address, a display name, attributes or a pending email change of it are still there. " +
			"Erase them: a tombstone keeps the handle until its quarantine ends, and nothing else that is personal."})
}

// checkedDevice is a device's row with what stands beside it.
type checkedDevice struct {
	*deviceRow
	number domain.Number // where it stands
	events keptEvents
}

func (d checkedDevice) place() []any { return []any{int16(d.number), d.ID} }

const sqlCheckDevices = `
SELECT d.number, e.kept, e.first, e.last, ` + deviceColumns + `
  FROM (SELECT d.* FROM devices d
         WHERE d.tenant_id = $1 AND d.number BETWEEN $4 AND $2 AND (d.number, d.device_id) > ($4, $5)
         ORDER BY d.number, d.device_id LIMIT $3) d
 CROSS JOIN LATERAL (SELECT count(*) AS kept, coalesce(min(e.revision), 0) AS first, coalesce(max(e.revision), 0) AS last
                       FROM (SELECT e.revision FROM events e
                              WHERE e.tenant_id = $1 AND e.number = d.number AND e.family = 'device' AND e.record_id = d.device_id
                              ORDER BY e.revision OFFSET 0) e) e
 ORDER BY d.number, d.device_id`

func (r *inspectedRun) devices(ctx context.Context) error {
	scan := func(row pgx.CollectableRow) (d checkedDevice, err error) {
		d.deviceRow, err = scanDevice(row, &d.number, &d.events.count, &d.events.first, &d.events.last)
		return d, err
	}
	return walk(ctx, r, sqlCheckDevices, []any{domain.DeviceID{}}, scan, func(ctx context.Context, page []checkedDevice, now time.Time) error {
		var held []ownedKey
		var approved []*approval
		for _, d := range page {
			record := deviceRef(d.ID)
			r.count(func(t *tally) {
				t.add(record.Family, string(d.Status), d.links())
				t.code(d.deviceRow, now)
			})
			r.digests[d.number].device(d.deviceRow)
			if d.number != record.Number {
				if err := r.misplaced(record.Family, d.number, d.ID.String(), record.ID); err != nil {
					return err
				}
				continue
			}
			if err := r.history(record, d.Revision, d.CreatedAt, d.UpdatedAt, d.events, now); err != nil {
				return err
			}
			for _, l := range d.links() {
				if d.holds(l, now.Add(clockMargin)) {
					held = append(held, ownedKey{record, l})
				}
			}
			if d.Status == DeviceApproved {
				approved = append(approved, &approval{device: d.deviceRow})
			}
		}
		if err := r.keys(ctx, held); err != nil {
			return err
		}
		return r.linked(ctx, approved)
	})
}

// history holds a record's events to its revision: from the oldest that is kept
// they run to it without a gap, and only what is past its retention is not kept.
func (r *inspectedRun) history(record ref, revision int64, createdAt, updatedAt time.Time, kept keptEvents, now time.Time) error {
	due := now.Add(-r.s.retention)
	var wrong string
	switch {
	case kept.count == 0 && updatedAt.After(due):
		wrong = "has no event of its last change, which is not that long ago"
	case kept.count == 0:
		return nil
	case kept.last != revision:
		wrong = fmt.Sprintf("is at revision %d, and its last event tells of revision %d", revision, kept.last)
	case !kept.dense():
		wrong = fmt.Sprintf("has %d events of the revisions %d to %d", kept.count, kept.first, kept.last)
	case kept.first > 1 && createdAt.After(due):
		wrong = fmt.Sprintf("has no event before revision %d, and was not made that long ago", kept.first)
	default:
		return nil
	}
	return r.tell(Violation{Kind: EventsMissing, Database: r.db.Name, Family: record.Family, Number: record.Number, Record: record.ID,
		Detail: "The record " + wrong + ". Each committed change has an event, written with it: " +
			"something changed the record or its events past Holdfast. What readers of the feed made of the record may be wrong: have them read it again."})
}
