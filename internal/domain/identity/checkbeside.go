package identity

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// checkedOperation is an operation's row and the revision of its record, of the
// same moment.
type checkedOperation struct {
	operation
	stands   domain.Number
	revision int64 // 0 if there is no record
}

func (o checkedOperation) place() []any {
	return []any{int16(o.stands), o.record.Family, o.record.ID}
}

const sqlCheckOperations = `
SELECT o.number, o.family, o.record_id, o.state, o.base_revision, o.new_links, o.old_links, coalesce(a.revision, d.revision, 0)
  FROM (SELECT o.* FROM operations o
         WHERE o.tenant_id = $1 AND o.number BETWEEN $4 AND $2 AND (o.number, o.family, o.record_id) > ($4, $5, $6)
         ORDER BY o.number, o.family, o.record_id LIMIT $3) o
  LEFT JOIN LATERAL (SELECT a.revision FROM accounts a
                      WHERE o.family = 'account' AND a.tenant_id = $1 AND a.number = o.number AND a.account_id = o.record_id LIMIT 1) a ON true
  LEFT JOIN LATERAL (SELECT d.revision FROM devices d
                      WHERE o.family = 'device' AND d.tenant_id = $1 AND d.number = o.number AND d.device_id = o.record_id LIMIT 1) d ON true
 ORDER BY o.number, o.family, o.record_id`

func (r *inspectedRun) operations(ctx context.Context) error {
	scan := func(row pgx.CollectableRow) (o checkedOperation, err error) {
		var family domain.Family
		var id domain.RecordID
		err = row.Scan(&o.stands, &family, &id, &o.state, &o.base, &o.newLinks, &o.oldLinks, &o.revision)
		o.record = refTo(family, id)
		return o, err
	}
	return walk(ctx, r, sqlCheckOperations, []any{"", domain.RecordID{}}, scan, func(_ context.Context, page []checkedOperation, _ time.Time) error {
		r.count(func(t *tally) { t.pending += int64(len(page)) })
		for _, o := range page {
			if o.stands != o.record.Number {
				if err := r.misplaced(o.record.Family, o.stands, o.record.ID.String(), o.record.ID); err != nil {
					return err
				}
				continue
			}
			wrong := o.wrong()
			if wrong == "" {
				continue
			}
			if err := r.tell(Violation{Kind: WrongOperation, Database: r.db.Name, Family: o.record.Family, Number: o.stands, Record: o.record.ID,
				Detail: "An operation " + wrong + ". No step of the protocol leaves that: something wrote past Holdfast, " +
					"or the database lost what it had committed. Find out which before anything releases claims by it."}); err != nil {
				return err
			}
		}
		return nil
	})
}

// wrong says what its record can't have of the operation; "" if nothing is.
func (o checkedOperation) wrong() string {
	switch {
	case o.base > o.revision:
		return fmt.Sprintf("was prepared from revision %d of a record that is at %d", o.base, o.revision)
	case o.state == committed && o.base == o.revision:
		return fmt.Sprintf("is marked committed, and its record is at revision %d, from which it was prepared", o.revision)
	}
	for _, links := range [][]link{o.newLinks, o.oldLinks} {
		for _, l := range links {
			if l.Number != domain.NumberOf(l.Key) {
				return "lists a key in another bucket than the key's"
			}
		}
	}
	return ""
}

// checkedBeside is a row that stands beside an account: a pending email change,
// or a link to a device.
type checkedBeside struct {
	stands  domain.Number
	account domain.AccountID
	device  domain.DeviceID // zero for a change
	exists  bool            // the account does, or its tombstone
}

func (b checkedBeside) place() []any {
	if b.device.IsZero() {
		return []any{int16(b.stands), b.account}
	}
	return []any{int16(b.stands), b.account, b.device}
}

const sqlCheckChanges = `
SELECT m.number, m.account_id, '00000000-0000-0000-0000-000000000000'::uuid,
       EXISTS (SELECT FROM accounts a WHERE a.tenant_id = $1 AND a.number = m.number AND a.account_id = m.account_id)
  FROM email_changes m
 WHERE m.tenant_id = $1 AND m.number BETWEEN $4 AND $2 AND (m.number, m.account_id) > ($4, $5)
 ORDER BY m.number, m.account_id
 LIMIT $3`

const sqlCheckLinks = `
SELECT l.number, l.account_id, l.device_id,
       EXISTS (SELECT FROM accounts a WHERE a.tenant_id = $1 AND a.number = l.number AND a.account_id = l.account_id)
  FROM account_devices l
 WHERE l.tenant_id = $1 AND l.number BETWEEN $4 AND $2 AND (l.number, l.account_id, l.device_id) > ($4, $5, $6)
 ORDER BY l.number, l.account_id, l.device_id
 LIMIT $3`

func (r *inspectedRun) changes(ctx context.Context) error {
	return r.beside(ctx, sqlCheckChanges, "A pending email change", domain.AccountID{})
}

func (r *inspectedRun) links(ctx context.Context) error {
	return r.beside(ctx, sqlCheckLinks, "A link to a device", domain.AccountID{}, domain.DeviceID{})
}

func (r *inspectedRun) beside(ctx context.Context, sql, what string, start ...any) error {
	scan := func(row pgx.CollectableRow) (b checkedBeside, err error) {
		err = row.Scan(&b.stands, &b.account, &b.device, &b.exists)
		return b, err
	}
	return walk(ctx, r, sql, start, scan, func(_ context.Context, page []checkedBeside, _ time.Time) error {
		for _, b := range page {
			record := accountRef(b.account)
			var err error
			switch {
			case b.stands != record.Number:
				err = r.misplaced(record.Family, b.stands, record.ID.String(), record.ID)
			case !b.exists:
				err = r.tell(Violation{Kind: AccountMissing, Database: r.db.Name, Family: record.Family, Number: b.stands, Record: record.ID,
					Detail: what + " stands beside an account that isn't there. It is of no use to anybody: remove it, " +
						"and find out what became of the account."})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
