package identity

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const sqlRemoveEmail = `
UPDATE accounts SET revision = $5, email = NULL, email_key = NULL, email_token = NULL, email_verified_at = NULL, updated_at = $6
 WHERE tenant_id = $1 AND number = $2 AND account_id = $3 AND revision = $4 AND status <> 'deleted'`

// RemoveEmail takes an account's address away, which is free at once. A pending
// change stays. With a revision the account must be at it; an account without
// an address is answered as it is, whatever the revision.
//
// A crash behind the commit leaves a committed operation that lists the claim;
// whoever meets it, or the sweep, releases that.
//
// Errors: precondition failed on another revision, not found, conflict
// change_pending while another change of the account is prepared.
func (s *Service) RemoveEmail(ctx context.Context, scope tenancy.Scope, account domain.AccountID, revision *int64) (Account, error) {
	record := accountRef(account)
	for range 2 {
		removed, err := s.removeEmail(ctx, scope, record, revision)
		if err != nil {
			return Account{}, err
		}
		if !removed.busy {
			if removed.release == nil {
				return removed.account, nil
			}
			if err := s.reach(ctx, "email removed"); err != nil {
				return Account{}, err
			}
			return removed.account, s.settle(ctx, scope.Tenant, removed.release)
		}
		recovered, err := s.recover(ctx, scope.Tenant, record)
		if err != nil {
			return Account{}, err
		}
		if !recovered {
			break
		}
	}
	return Account{}, s.changePending()
}

// removedEmail is the outcome of a removal's one decision.
type removedEmail struct {
	busy    bool       // another operation of the account stands in the way; nothing was done
	account Account    // as it is now
	release *operation // has the claim to release, nil if there is none
}

func (s *Service) removeEmail(ctx context.Context, scope tenancy.Scope, record ref, revision *int64) (outcome removedEmail, err error) {
	err = s.changeAccount(ctx, scope.Tenant, record, needs{operation: true}, func(a *lockedAccount) error {
		outcome = removedEmail{}
		switch {
		case !a.account.visible():
			return errNoAccount
		case a.account.Email.IsZero():
			outcome.account = a.account.Account
			return nil
		case revision != nil && a.account.Revision != *revision:
			return errStale
		case a.occupied():
			outcome.busy = true
			return nil
		}
		outcome.release = releaseOf(ctx, a, `{"email":null}`)
		queueRelease(a.Tx, outcome.release)
		a.revise(sqlRemoveEmail, AccountEmailRemoved, []string{"email"}, principalActor(scope), a.now)
		outcome.account = a.account.Account
		outcome.account.Email, outcome.account.EmailVerifiedAt = Email{}, nil
		return nil
	})
	return outcome, err
}
