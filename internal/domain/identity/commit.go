package identity

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// creating is step 3 for a creation, the only commit point: write the record at
// revision 1. A creation has no old claims, so the commit finalizes too.
//
// A crash before it leaves an operation that is aborted after its deadline; a
// crash behind it leaves the finished account, and a caller that was not told.
type creating struct {
	op      *operation
	account *accountRow
	change  *emailChange // begins with the account, if not nil
	actor   Actor
	history history

	committed bool
}

// history are times that lie before the commit, of an account that was another
// directory's. A nil one is the commit's.
type history struct{ createdAt, verifiedAt *time.Time }

// date gives the account its revision and times.
func (c *creating) date(now time.Time) {
	a := c.account
	a.Revision, a.UpdatedAt = 1, now
	a.CreatedAt = earlier(c.history.createdAt, now)
	if !a.Email.IsZero() {
		verifiedAt := earlier(c.history.verifiedAt, now)
		a.EmailVerifiedAt = &verifiedAt
	}
}

// earlier is the time given, if it isn't nil or later than now.
func earlier(given *time.Time, now time.Time) time.Time {
	if given == nil || given.After(now) {
		return now
	}
	return *given
}

const sqlInsertAccounts = `
INSERT INTO accounts (tenant_id, number, account_id, revision, status, handle, handle_key, handle_token,
                      skeleton_key, skeleton_token, email, email_key, email_token, email_verified_at,
                      display_name, attributes, fingerprint, created_at, updated_at)
SELECT $1, a.number, a.account_id, 1, a.status, a.handle, a.handle_key, a.token,
       a.skeleton_key, CASE WHEN a.skeleton_key IS NOT NULL THEN a.token END,
       a.email, a.email_key, CASE WHEN a.email_key IS NOT NULL THEN a.token END, a.verified_at,
       a.display_name, a.attributes::json, a.fingerprint, a.created_at, $2
  FROM unnest($3::smallint[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::uuid[], $9::text[],
              $10::text[], $11::text[], $12::timestamptz[], $13::text[], $14::text[], $15::bytea[], $16::timestamptz[])
       AS a (number, account_id, status, handle, handle_key, token, skeleton_key,
             email, email_key, verified_at, display_name, attributes, fingerprint, created_at)
ON CONFLICT DO NOTHING`

const sqlClearPrepared = `
DELETE FROM operations
 WHERE tenant_id = $1 AND number = $2 AND family = $3 AND record_id = $4 AND token = $5 AND state = 'prepared'`

// sqlDemandCreated holds what was written to what was decided: every account is
// there under its operation's token, and its operation is not.
const sqlDemandCreated = `
SELECT demand(count(a.account_id) = count(*) AND count(o.record_id) = 0)
  FROM unnest($2::smallint[], $3::text[], $4::uuid[], $5::uuid[]) AS p (number, family, record_id, token)
  LEFT JOIN LATERAL (SELECT a.account_id FROM accounts a
                      WHERE a.tenant_id = $1 AND a.number = p.number AND a.account_id = p.record_id
                        AND a.revision = 1 AND a.handle_token = p.token LIMIT 1) a ON true
  LEFT JOIN LATERAL (SELECT o.record_id FROM operations o
                      WHERE o.tenant_id = $1 AND o.number = p.number AND o.family = p.family
                        AND o.record_id = p.record_id AND o.token = p.token LIMIT 1) o ON true`

func (s *Service) createAll(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*creating) error {
	slices.SortFunc(all, func(a, b *creating) int { return compareRefs(a.op.record, b.op.record) })
	var asked operationColumns
	for _, c := range all {
		c.committed = false
		asked.add(c.op)
	}
	var chosen []*creating
	err := tenancy.Run(ctx, db, s.entry(tenant, asked.numbers), func(ctx context.Context, tx *tenancy.Tx) error {
		mine, now, err := lockPrepared(ctx, tx, &asked)
		if err != nil {
			return err
		}
		for _, c := range all {
			if standing, found := mine[c.op.token]; found && !standing.overdue(now) {
				chosen = append(chosen, c)
			}
		}
		if len(chosen) == 0 {
			return nil
		}
		for _, c := range chosen {
			c.op.queueClearPrepared(tx)
		}
		queueCreated(tx, chosen, now)
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range chosen {
		c.committed = true
	}
	return nil
}

func (o *operation) queueClearPrepared(tx *tenancy.Tx) {
	tx.Queue(sqlClearPrepared, int16(o.record.Number), o.record.Family, o.record.ID, o.token)
}

// queueCreated writes the accounts, which come in the order of their records, and
// their events.
func queueCreated(tx *tenancy.Tx, all []*creating, now time.Time) {
	var rows accountColumnsOf
	var done operationColumns
	for _, c := range all {
		c.date(now)
		rows.add(c.account)
		done.add(c.op)
		if c.change != nil {
			c.change.queue(tx, c.account.ID, now)
		}
	}
	rows.queue(tx, now)
	tx.Queue(sqlDemandCreated, done.numbers, done.families, done.records, done.tokens)
	queueEvents(tx, now, created(all)...)
}

// lockPrepared locks the operations that still stand under the tokens asked for,
// and reads the clock behind the locks. None of their records exists: an id was
// drawn at random, or prepare looked, and while an operation stands no other
// makes its record.
func lockPrepared(ctx context.Context, tx *tenancy.Tx, asked *operationColumns) (map[domain.Token]*operation, time.Time, error) {
	mine := make(map[domain.Token]*operation, len(asked.tokens))
	var now time.Time
	queueLockOperations(tx, asked, func(o *operation) { mine[o.token] = o })
	tx.QueueNow(&now)
	err := tx.Send(ctx)
	return mine, now, err
}

func created(all []*creating) []event {
	events := make([]event, len(all))
	for i, c := range all {
		events[i] = event{c.op.record, 1, AccountCreated, c.account.fields(), c.actor}
	}
	return events
}
