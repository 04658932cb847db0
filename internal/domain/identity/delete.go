package identity

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const sqlEntomb = `
UPDATE accounts SET revision = revision + 1, status = 'deleted', email = NULL, email_key = NULL, email_token = NULL,
       email_verified_at = NULL, display_name = NULL, attributes = '{}',
       updated_at = $5, deleted_at = $5, quarantined_until = $6
 WHERE tenant_id = $1 AND number = $2 AND account_id = $3 AND revision = $4 AND status <> 'deleted'`

const sqlEndEmailChange = `
DELETE FROM email_changes WHERE tenant_id = $1 AND number = $2 AND account_id = $3`

// An operation that would create the record which is there was prepared in vain,
// by a repeated request that has not yet looked; it has no claims and is nobody's.
const sqlStandingOperation = `
SELECT o.token FROM operations o
 WHERE o.tenant_id = $1 AND o.number = $2 AND o.family = $3 AND o.record_id = $4 AND o.base_revision > 0`

// queueStandingOperation tells whether a change of the record is under way. It
// goes behind the record's lock, which every prepare of a change holds, so that
// one that is not there then doesn't come. It locks nothing: a commit locks its
// operation before the record, and the two would wait for each other.
func queueStandingOperation(tx *tenancy.Tx, record ref, stands *bool) {
	tx.Queue(sqlStandingOperation, int16(record.Number), record.Family, record.ID).Query(func(rows pgx.Rows) error {
		*stands = rows.Next()
		return rows.Err()
	})
}

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
	number, id := int16(record.Number), record.ID
	err = tenancy.Run(ctx, s.router.Database(record.Number), s.entry(scope.Tenant, []int16{number}), func(ctx context.Context, tx *tenancy.Tx) error {
		var occupied bool
		a, now, err := lockAccount(ctx, tx, record, func() { queueStandingOperation(tx, record, &occupied) })
		switch {
		case err != nil:
			return err
		case a.Status == deleted:
			return nil
		case a.Revision != revision:
			return errStale
		case a.Email.IsZero():
			// Nothing to release. An operation that is prepared beside the account
			// fails its commit, because its revision has gone.
		case occupied:
			outcome.busy = true
			return nil
		default:
			outcome.release = releaseOf(ctx, record, a, now, `{"status":"deleted"}`)
			if err := queueRelease(tx, outcome.release); err != nil {
				return err
			}
		}
		tx.Queue(sqlEndEmailChange, number, id)
		tx.Queue(sqlEntomb, number, id, revision, now, now.Add(s.quarantine))
		tx.Queue(sqlDemandRevision, number, id, revision+1)
		queueEvents(tx, now, event{record, revision + 1, AccountDeleted, a.fields(), principalActor(scope)})
		return nil
	})
	return outcome, err
}

// releaseOf makes the operation that frees the email of an account which no
// longer has it.
func releaseOf(ctx context.Context, record ref, a *accountRow, now time.Time, proposal string) *operation {
	return &operation{
		record:      record,
		token:       domain.RandomID[domain.TokenKind](),
		state:       committed,
		deadline:    now,
		base:        a.Revision,
		proposal:    json.RawMessage(proposal),
		oldLinks:    []link{linkTo(domain.FamilyEmail, a.Email.Key(), a.emailToken)},
		traceparent: traceparent(ctx),
	}
}

func queueRelease(tx *tenancy.Tx, op *operation) error {
	links, err := json.Marshal(op.oldLinks)
	if err != nil {
		return err
	}
	tx.Queue(sqlBeginRelease, int16(op.record.Number), op.record.Family, op.record.ID, op.token,
		op.deadline, op.base, string(op.proposal), string(links), op.traceparent)
	tx.Queue(sqlDemandOperation, int16(op.record.Number), op.record.Family, op.record.ID, op.token)
	return nil
}
