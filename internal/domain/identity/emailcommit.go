package identity

import (
	"context"
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

func queuePrepared(tx *tenancy.Tx, op *operation) {
	r := op.record
	tx.Queue(sqlPrepareChange, int16(r.Number), r.Family, r.ID, op.token, op.deadline, op.base,
		string(op.proposal), linksJSON(op.newLinks), linksJSON(op.oldLinks), op.traceparent)
	tx.Queue(sqlDemandOperation, int16(r.Number), r.Family, r.ID, op.token)
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
SELECT demand(count(*) FILTER (WHERE token = $5 AND state <> 'committed') = 0 AND count(*) FILTER (WHERE token = $5) = $6)
  FROM operations WHERE tenant_id = $1 AND number = $2 AND family = $3 AND record_id = $4`

// commitChange is the change's only commit point: the operation still stands
// and its deadline hasn't come, the account is at the revision that it was
// prepared from, and the change is still the account's pending one.
//
// A crash before it leaves an operation that is aborted after its deadline, and
// the change still pending. A crash behind it leaves an operation marked
// committed, whose old claim anybody may release.
func (s *Service) commitChange(ctx context.Context, tenant domain.TenantID, c *confirming) error {
	op := c.op
	err := s.changeAccount(ctx, tenant, c.record, needs{emailChange: true, operation: true}, func(a *lockedAccount) error {
		switch {
		case a.operation == nil || a.operation.token != op.token || a.operation.overdue(a.now):
			return errExpired
		case !a.account.visible():
			return errNoAccount
		case a.account.Revision != op.base:
			return errChangeStale
		case !a.pending.begunWith(c.pending):
			return errNoEmailChange
		}
		email := c.pending.email
		a.revise(sqlChangeEmail, AccountEmailChanged, []string{"email"}, c.actor, email.String(), email.Key(), op.token, a.now)
		a.queue(sqlCancelEmailChange, c.change)
		a.decide(op)
		c.account = a.account.Account
		c.account.Email, c.account.EmailVerifiedAt = email, &a.now
		return nil
	})
	if err == nil {
		op.state = committed
	}
	return err
}

// decide queues what a commit makes of its operation: it is marked committed
// while it has old claims to release, and cleared if it has none.
func (a *lockedAccount) decide(op *operation) {
	sql, left := sqlClearPrepared, 0
	if len(op.oldLinks) > 0 {
		sql, left = sqlMarkCommitted, 1
	}
	r := op.record
	a.Queue(sql, int16(r.Number), r.Family, r.ID, op.token)
	a.Queue(sqlDemandDecided, int16(r.Number), r.Family, r.ID, op.token, left)
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
