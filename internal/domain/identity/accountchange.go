package identity

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// accountChange is one decision in an account's bucket, under the locks of all
// that decides there. Changes of different accounts share transactions.
type accountChange struct {
	record ref
	needs  needs
	// decide queues what the decision writes, or gives an error and queues
	// nothing. It may be asked again, in another transaction, and then decides
	// anew.
	decide func(a *lockedAccount) error

	refused error // by decide
	again   bool  // not decided: another change of the account shares the transaction
}

// needs says what a decision looks at beside the account.
type needs struct{ emailChange, operation, guesses bool }

// lockedAccount is an account under its lock, with what its decision asked for.
type lockedAccount struct {
	*tenancy.Tx
	record    ref
	account   *accountRow    // a tombstone too
	pending   *pendingChange // nil if there is none
	operation *operation     // token, state, deadline and base; nil if there is none
	guesses   guesses        // of user codes, by the account
	now       time.Time      // behind the locks, and never earlier than the last change

	events *[]event
}

// changeAccount makes one decision about an account. An account that isn't there
// is errNoAccount.
func (s *Service) changeAccount(ctx context.Context, tenant domain.TenantID, record ref, needs needs, decide func(a *lockedAccount) error) error {
	ctx = context.WithoutCancel(ctx) // decide writes to what its caller will read
	for {
		c := &accountChange{record: record, needs: needs, decide: decide}
		if err := s.changing.Do(ctx, s.router.Database(record.Number), tenant, c); err != nil {
			return err
		}
		if !c.again {
			return c.refused
		}
	}
}

// Rows are locked in key order, table by table: accounts, their pending changes,
// their operations, their guesses.
const sqlLockAccounts = `
SELECT p.ordinal, ` + accountColumns + `
  FROM unnest($2::smallint[], $3::uuid[]) WITH ORDINALITY AS p (number, account_id, ordinal)
 CROSS JOIN LATERAL (SELECT a.* FROM accounts a
                      WHERE a.tenant_id = $1 AND a.number = p.number AND a.account_id = p.account_id
                        FOR NO KEY UPDATE) a`

const sqlLockEmailChanges = `
SELECT p.ordinal, c.change_id, c.email, c.email_key, c.code_hash, c.server_key_id, c.wrong_codes, c.expires_at
  FROM unnest($2::smallint[], $3::uuid[]) WITH ORDINALITY AS p (number, account_id, ordinal)
 CROSS JOIN LATERAL (SELECT c.* FROM email_changes c
                      WHERE c.tenant_id = $1 AND c.number = p.number AND c.account_id = p.account_id
                        FOR UPDATE) c`

const sqlLockStanding = `
SELECT p.ordinal, o.token, o.state, o.deadline, o.base_revision
  FROM unnest($2::smallint[], $3::text[], $4::uuid[]) WITH ORDINALITY AS p (number, family, record_id, ordinal)
 CROSS JOIN LATERAL (SELECT o.* FROM operations o
                      WHERE o.tenant_id = $1 AND o.number = p.number AND o.family = p.family AND o.record_id = p.record_id
                        FOR UPDATE) o`

func (s *Service) changeAccounts(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*accountChange) error {
	chosen := oneAnAccount(all)
	numbers := make([]int16, len(chosen))
	for i, c := range chosen {
		numbers[i] = int16(c.record.Number)
	}
	return tenancy.Run(ctx, db, s.entry(tenant, numbers), func(ctx context.Context, tx *tenancy.Tx) error {
		locked := make([]*lockedAccount, len(chosen))
		var events []event
		for i, c := range chosen {
			locked[i] = &lockedAccount{Tx: tx, record: c.record, events: &events}
		}
		now, err := lockAccounts(ctx, tx, chosen, locked)
		if err != nil {
			return err
		}
		at := now // of the events: none is earlier than what it tells of
		for i, c := range chosen {
			a := locked[i]
			if a.account == nil {
				c.refused = errNoAccount
				continue
			}
			if a.now = now; now.Before(a.account.UpdatedAt) {
				a.now = a.account.UpdatedAt
			}
			c.refused = c.decide(a)
			if a.now.After(at) {
				at = a.now
			}
		}
		if len(events) > 0 {
			queueEvents(tx, at, events...)
		}
		return nil
	})
}

// oneAnAccount chooses the first change of each account, in key order, and has
// the others come again: what one decides the next must see.
func oneAnAccount(all []*accountChange) (chosen []*accountChange) {
	slices.SortStableFunc(all, func(a, b *accountChange) int { return compareRefs(a.record, b.record) })
	for i, c := range all {
		c.refused, c.again = nil, i > 0 && all[i-1].record == c.record
		if !c.again {
			chosen = append(chosen, c)
		}
	}
	return chosen
}

// lockAccounts locks and reads all that the changes need, and then the clock.
func lockAccounts(ctx context.Context, tx *tenancy.Tx, changes []*accountChange, into []*lockedAccount) (now time.Time, err error) {
	var accounts, pending, operations []*lockedAccount
	for i, c := range changes {
		accounts = append(accounts, into[i])
		if c.needs.emailChange {
			pending = append(pending, into[i])
		}
		if c.needs.operation {
			operations = append(operations, into[i])
		}
	}
	queueLock(tx, sqlLockAccounts, accounts, func(rows pgx.Rows, ordinal *int64) (err error) {
		a, err := scanAccount(rows, ordinal)
		if err == nil {
			accounts[*ordinal-1].account = a
		}
		return err
	})
	queueLock(tx, sqlLockEmailChanges, pending, func(rows pgx.Rows, ordinal *int64) error {
		c, err := scanPendingChange(rows, ordinal)
		if err == nil {
			pending[*ordinal-1].pending = c
		}
		return err
	})
	queueLock(tx, sqlLockStanding, operations, func(rows pgx.Rows, ordinal *int64) error {
		var o operation
		err := rows.Scan(ordinal, &o.token, &o.state, &o.deadline, &o.base)
		if err == nil {
			a := operations[*ordinal-1]
			o.record, a.operation = a.record, &o
		}
		return err
	})
	for i, c := range changes {
		if c.needs.guesses {
			chargeOf(c.record).queueLockGuesses(tx, &into[i].guesses)
		}
	}
	tx.QueueNow(&now)
	return now, tx.Send(ctx)
}

// queueLock queues one of the lock statements, if any change needs it.
func queueLock(tx *tenancy.Tx, sql string, locked []*lockedAccount, scan func(rows pgx.Rows, ordinal *int64) error) {
	if len(locked) == 0 {
		return
	}
	var numbers []int16
	var families []string
	var records [][16]byte
	for _, a := range locked {
		numbers = append(numbers, int16(a.record.Number))
		families = append(families, string(a.record.Family))
		records = append(records, a.record.ID)
	}
	args := []any{numbers, records}
	if sql == sqlLockStanding {
		args = []any{numbers, families, records}
	}
	tx.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var ordinal int64
			if err := scan(rows, &ordinal); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// occupied tells whether a change of the account is under way. A creation that
// was prepared in vain, by a repeated request that has not yet looked, is none: it
// has no claims and is nobody's.
func (a *lockedAccount) occupied() bool { return a.operation != nil && a.operation.base > 0 }

// queue queues a statement about the account; args begin at $4.
func (a *lockedAccount) queue(sql string, args ...any) {
	a.Queue(sql, append([]any{int16(a.record.Number), a.record.ID}, args...)...)
}

// revise queues a statement that makes the account's next revision, and what goes
// with it. The statement's $4 is the revision of before and $5 the next; args
// begin at $6.
func (a *lockedAccount) revise(sql string, kind EventKind, fields []string, actor Actor, args ...any) {
	before, next := a.account.Revision, a.account.Revision+1
	a.queue(sql, append([]any{before, next}, args...)...)
	a.queue(sqlDemandRevision, next)
	*a.events = append(*a.events, event{a.record, next, kind, fields, actor})
	a.account.Revision, a.account.UpdatedAt = next, a.now
}
