package identity

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// sqlPrepareChange prepares a change of a record that exists. It takes the place
// of a creation that was prepared in vain, and of nothing else.
const sqlPrepareChange = `
INSERT INTO operations AS o (tenant_id, number, family, record_id, token, state, deadline,
                             base_revision, proposal, new_links, old_links, traceparent)
VALUES ($1, $2, $3, $4, $5, 'prepared', $6, $7, $8::json, $9::json, $10::json, $11)
ON CONFLICT (tenant_id, number, family, record_id) DO UPDATE
   SET token = excluded.token, state = excluded.state, deadline = excluded.deadline,
       base_revision = excluded.base_revision, proposal = excluded.proposal, new_links = excluded.new_links,
       old_links = excluded.old_links, fingerprint = NULL, traceparent = excluded.traceparent
 WHERE o.base_revision = 0`

func queuePrepared(tx *tenancy.Tx, op *operation) error {
	newLinks, err := json.Marshal(op.newLinks)
	if err != nil {
		return err
	}
	oldLinks, err := json.Marshal(op.oldLinks)
	if err != nil {
		return err
	}
	r := op.record
	tx.Queue(sqlPrepareChange, int16(r.Number), r.Family, r.ID, op.token, op.deadline, op.base,
		string(op.proposal), string(newLinks), string(oldLinks), op.traceparent)
	tx.Queue(sqlDemandOperation, int16(r.Number), r.Family, r.ID, op.token)
	return nil
}

const sqlChangeEmail = `
UPDATE accounts SET revision = $5, email = $6, email_key = $7, email_token = $8, email_verified_at = $9, updated_at = $9
 WHERE tenant_id = $1 AND number = $2 AND account_id = $3 AND revision = $4 AND status <> 'deleted'`

const sqlMarkCommitted = `
UPDATE operations SET state = 'committed'
 WHERE tenant_id = $1 AND number = $2 AND family = $3 AND record_id = $4 AND token = $5 AND state = 'prepared'`

// sqlDemandDecided holds an operation to what its commit makes of it: marked
// committed, or gone.
const sqlDemandDecided = `
SELECT demand(count(*) FILTER (WHERE token = $5 AND state = 'prepared') = 0 AND count(*) FILTER (WHERE token = $5) = $6)
  FROM operations WHERE tenant_id = $1 AND number = $2 AND family = $3 AND record_id = $4`

// commitChange is the change's only commit point: the operation still stands
// and its deadline hasn't come, the account is at the revision that it was
// prepared from, and the change is still the account's pending one.
//
// A crash before it leaves an operation that is aborted after its deadline, and
// the change still pending. A crash behind it leaves an operation marked
// committed, whose old claim anybody may release.
func (s *Service) commitChange(ctx context.Context, tenant domain.TenantID, c *confirming) error {
	op, number, id := c.op, int16(c.record.Number), c.record.ID
	err := tenancy.Run(ctx, s.router.Database(c.record.Number), s.entry(tenant, []int16{number}), func(ctx context.Context, tx *tenancy.Tx) error {
		var standing *operation
		var pending *pendingChange
		var asked operationColumns
		asked.add(op)
		queueLockOperations(tx, &asked, func(o *operation) { standing = o })
		a, now, err := lockAccount(ctx, tx, c.record, func() { queueLockEmailChange(tx, c.record, &pending) })
		switch {
		case err != nil:
			return err
		case standing == nil || standing.overdue(now):
			return errExpired
		case !a.visible():
			return errNoAccount
		case a.Revision != op.base:
			return errChangeStale
		case !pending.begunWith(c.pending):
			return errNoEmailChange
		}
		next, email := op.base+1, c.pending.email
		tx.Queue(sqlChangeEmail, number, id, op.base, next, email.String(), email.Key(), op.token, now)
		tx.Queue(sqlCancelEmailChange, number, id, c.change)
		decided, left := sqlClearPrepared, 0
		if len(op.oldLinks) > 0 {
			decided, left = sqlMarkCommitted, 1
		}
		tx.Queue(decided, number, c.record.Family, id, op.token)
		tx.Queue(sqlDemandRevision, number, id, next)
		tx.Queue(sqlDemandDecided, number, c.record.Family, id, op.token, left)
		queueEvents(tx, now, event{c.record, next, AccountEmailChanged, []string{"email"}, c.actor})

		c.account = a.Account
		c.account.Revision, c.account.Email, c.account.EmailVerifiedAt, c.account.UpdatedAt = next, email, &now, now
		return nil
	})
	if err == nil {
		op.state = committed
	}
	return err
}

// withoutPointers is for requests that name the key nowhere.
func withoutPointers(err error) error {
	var e *domain.Error
	if !errors.As(err, &e) || len(e.Fields) == 0 {
		return err
	}
	plain := *e
	plain.Fields = nil
	return &plain
}
