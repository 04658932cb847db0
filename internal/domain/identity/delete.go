package identity

import (
	"context"
	"encoding/json"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const sqlEntomb = `
UPDATE accounts SET revision = $5, status = 'deleted', email = NULL, email_key = NULL, email_token = NULL,
       email_verified_at = NULL, display_name = NULL, attributes = '{}',
       updated_at = $6, deleted_at = $6, quarantined_until = $7
 WHERE tenant_id = $1 AND number = $2 AND account_id = $3 AND revision = $4 AND status <> 'deleted'`

const sqlEndEmailChange = `
DELETE FROM email_changes WHERE tenant_id = $1 AND number = $2 AND account_id = $3`

// sqlBeginRelease writes an operation that is committed from the start: what
// claims nothing has its prepare and its commit in one decision. It takes the
// place of one that was prepared in vain.
const sqlBeginRelease = `
INSERT INTO operations AS o (tenant_id, number, family, record_id, token, state, deadline,
                             base_revision, proposal, new_links, old_links, traceparent)
VALUES ($1, $2, $3, $4, $5, 'committed', $6, $7, $8::json, '[]', $9::json, $10)
ON CONFLICT (tenant_id, number, family, record_id) DO UPDATE
   SET token = excluded.token, state = excluded.state, deadline = excluded.deadline,
       base_revision = excluded.base_revision, proposal = excluded.proposal, new_links = excluded.new_links,
       old_links = excluded.old_links, fingerprint = NULL, traceparent = excluded.traceparent
 WHERE o.base_revision = 0`

const sqlDemandOperation = `
SELECT demand(count(*) = 1) FROM operations
 WHERE tenant_id = $1 AND number = $2 AND family = $3 AND record_id = $4 AND token = $5`

// Delete leaves a tombstone: it erases what is personal, frees the email at
// once, and holds the handle in quarantine, so that nobody can impersonate.
// Deleting a tombstone again is fine, whatever the revision.
//
// A crash behind the commit leaves a committed operation that lists the email's
// claim; whoever meets it, or the sweep, releases that.
//
// Errors: precondition failed on another revision, not found, conflict
// change_pending while another change of the account is prepared.
func (s *Service) Delete(ctx context.Context, scope tenancy.Scope, id domain.AccountID, revision int64) error {
	record := accountRef(id)
	for range 2 {
		outcome, err := s.entomb(ctx, scope, record, revision)
		if err != nil {
			return err
		}
		if !outcome.busy {
			if outcome.release == nil {
				return nil
			}
			if err := s.reach(ctx, "deleted"); err != nil {
				return err
			}
			return s.settle(ctx, scope.Tenant, outcome.release)
		}
		recovered, err := s.recover(ctx, scope.Tenant, record)
		if err != nil {
			return err
		}
		if !recovered {
			break
		}
	}
	return s.changePending()
}

func (s *Service) changePending() error {
	return domain.Conflict("change_pending",
		"Another change of this account is under way. Try again in a moment.").After(s.deadline)
}

// settle releases what a committed change left. The change stands whatever
// becomes of that, and its caller has had its success.
func (s *Service) settle(ctx context.Context, tenant domain.TenantID, op *operation) error {
	err := s.finish(context.WithoutCancel(ctx), tenant, op)
	if stopped(err) {
		return err
	}
	if err != nil {
		s.metrics.recovered(ctx, "left_to_recovery")
	}
	return nil
}

// entombed is the outcome of a deletion's one decision.
type entombed struct {
	busy    bool       // another operation of the account stands in the way; nothing was done
	release *operation // has the claims to release, nil if there are none
}

func (s *Service) entomb(ctx context.Context, scope tenancy.Scope, record ref, revision int64) (outcome entombed, err error) {
	err = s.changeAccount(ctx, scope.Tenant, record, needs{operation: true}, func(a *lockedAccount) error {
		outcome = entombed{}
		switch {
		case a.account.Status == deleted:
			return nil
		case a.account.Revision != revision:
			return errStale
		case a.account.Email.IsZero():
			// Nothing to release. An operation that is prepared beside the account
			// fails its commit, because its revision has gone.
		case a.occupied():
			outcome.busy = true
			return nil
		default:
			outcome.release = releaseOf(ctx, a, `{"status":"deleted"}`)
			queueRelease(a.Tx, outcome.release)
		}
		a.queue(sqlEndEmailChange)
		a.revise(sqlEntomb, AccountDeleted, a.account.fields(), principalActor(scope), a.now, a.now.Add(s.quarantine))
		return nil
	})
	return outcome, err
}

// releaseOf makes the operation that frees the email of an account which no
// longer has it.
func releaseOf(ctx context.Context, a *lockedAccount, proposal string) *operation {
	return &operation{
		record:      a.record,
		token:       domain.RandomID[domain.TokenKind](),
		state:       committed,
		deadline:    a.now,
		base:        a.account.Revision,
		proposal:    json.RawMessage(proposal),
		oldLinks:    []link{linkTo(domain.FamilyEmail, a.account.Email.Key(), a.account.emailToken)},
		traceparent: traceparent(ctx),
	}
}

func queueRelease(tx *tenancy.Tx, op *operation) {
	r := op.record
	tx.Queue(sqlBeginRelease, int16(r.Number), r.Family, r.ID, op.token,
		op.deadline, op.base, string(op.proposal), linksJSON(op.oldLinks), op.traceparent)
	tx.Queue(sqlDemandOperation, int16(r.Number), r.Family, r.ID, op.token)
}
