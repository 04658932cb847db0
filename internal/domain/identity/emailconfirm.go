package identity

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// maxWrongCodes end an email change.
const maxWrongCodes = 5

var (
	errWrongCode = domain.Invalid("email_code_wrong", "The code is not the one that the change was given.").At("/code")
	errLastWrong = domain.Invalid("email_code_wrong",
		"The code is not the one that the change was given. That was one wrong code too many: the change has ended. Begin another.").At("/code")
	errChangeStale = domain.Conflict("change_stale",
		"The account was changed while its email change was being confirmed, and that counts. Confirm again.").After(time.Second)
)

// ConfirmEmailChange puts a pending change into force: the new address is
// claimed, the account committed, the old address released. A change to the
// address that the account has already verifies it anew.
//
// A wrong code is counted before it is answered; maxWrongCodes of them end the
// change. Until the commit the old address stays in force.
//
// Errors: not found; invalid email_code_wrong; conflict email_taken, and the
// retryable claim_pending, change_pending and change_stale; unavailable; outcome
// unknown (read the account again: its email tells).
func (s *Service) ConfirmEmailChange(ctx context.Context, scope tenancy.Scope, account domain.AccountID, change domain.EmailChangeID, code string) (Account, error) {
	// As for a creation: what is prepared would stand in others' way.
	ctx = context.WithoutCancel(ctx)
	for range 2 {
		c := &confirming{record: accountRef(account), change: change, actor: principalActor(scope)}
		if err := s.judgeCode(ctx, scope.Tenant, c, digitsOf(code)); err != nil {
			return Account{}, err
		}
		switch {
		case c.refused != nil:
			return Account{}, c.refused
		case c.op != nil:
			return s.completeChange(ctx, scope.Tenant, c)
		case !c.busy:
			return c.account, nil
		}
		recovered, err := s.recover(ctx, scope.Tenant, c.record)
		if err != nil {
			return Account{}, err
		}
		if !recovered {
			break
		}
	}
	return Account{}, s.changePending()
}

// digitsOf drops what people type between digits.
func digitsOf(code string) string {
	return strings.NewReplacer(" ", "", "-", "").Replace(code)
}

// confirming is an email change on its way.
type confirming struct {
	record ref
	change domain.EmailChangeID
	actor  Actor

	busy    bool           // another operation of the account stands in the way; nothing was done
	refused error          // the code was wrong, which has been counted
	op      *operation     // prepared; nil where the address was only verified anew
	pending *pendingChange // whose code was right
	account Account        // committed
}

const sqlCountWrongCode = `
UPDATE email_changes SET wrong_codes = wrong_codes + 1
 WHERE tenant_id = $1 AND number = $2 AND account_id = $3 AND change_id = $4`

const sqlVerifyEmail = `
UPDATE accounts SET revision = $5, email = $6, email_verified_at = $7, updated_at = $7
 WHERE tenant_id = $1 AND number = $2 AND account_id = $3 AND revision = $4 AND status <> 'deleted'`

// judgeCode is the first decision, in the account's bucket: it judges the code,
// and then prepares the change. A wrong code is counted in the transaction that
// finds it wrong, so that no crash forgives it.
func (s *Service) judgeCode(ctx context.Context, tenant domain.TenantID, c *confirming, code string) error {
	return s.changeAccount(ctx, tenant, c.record, needs{emailChange: true, operation: true}, func(a *lockedAccount) error {
		c.busy, c.refused, c.op = false, nil, nil
		switch {
		case !a.account.visible():
			return errNoAccount
		case !a.pending.is(c.change, a.now):
			return errNoEmailChange
		case subtle.ConstantTimeCompare(hashCode(code), a.pending.codeHash) != 1:
			c.countWrong(a)
		case a.account.Email.Key() == a.pending.email.Key():
			c.verifyAgain(a)
		case a.occupied():
			c.busy = true
		default:
			c.pending = a.pending
			c.op = c.operation(ctx, a.account, a.now.Add(s.deadline))
			queuePrepared(a.Tx, c.op)
		}
		return nil
	})
}

func (c *confirming) countWrong(a *lockedAccount) {
	c.refused = errWrongCode
	sql := sqlCountWrongCode
	if a.pending.wrongCodes+1 >= maxWrongCodes {
		c.refused, sql = errLastWrong, sqlCancelEmailChange
	}
	a.queue(sql, c.change)
}

// verifyAgain needs no claim: the account has the key.
func (c *confirming) verifyAgain(a *lockedAccount) {
	email := a.pending.email
	a.revise(sqlVerifyEmail, AccountEmailChanged, []string{"email"}, c.actor, email.String(), a.now)
	a.queue(sqlCancelEmailChange, c.change)
	c.account = a.account.Account
	c.account.Email, c.account.EmailVerifiedAt = email, &a.now
}

// operation is the change as an operation: the new address to be claimed, the
// old one to be released.
func (c *confirming) operation(ctx context.Context, a *accountRow, deadline time.Time) *operation {
	token := domain.RandomID[domain.TokenKind]()
	proposal, _ := json.Marshal(map[string]string{"email": c.pending.email.String()}) // a map of strings
	op := &operation{
		record:      c.record,
		token:       token,
		state:       prepared,
		deadline:    deadline,
		base:        a.Revision,
		proposal:    proposal,
		newLinks:    []link{linkTo(domain.FamilyEmail, c.pending.email.Key(), token)},
		traceparent: traceparent(ctx),
	}
	if !a.Email.IsZero() {
		op.oldLinks = []link{linkTo(domain.FamilyEmail, a.Email.Key(), a.emailToken)}
	}
	return op
}

// completeChange runs the rest of the protocol for a prepared change.
func (s *Service) completeChange(ctx context.Context, tenant domain.TenantID, c *confirming) (Account, error) {
	if err := s.reach(ctx, "change prepared"); err != nil {
		return Account{}, err
	}
	if err := s.claim(ctx, tenant, c.op); err != nil {
		return Account{}, s.withdraw(ctx, tenant, c.op, withoutPointers(err))
	}
	if err := s.reach(ctx, "change claimed"); err != nil {
		return Account{}, err
	}
	if err := s.commitChange(ctx, tenant, c); err != nil {
		if domain.KindOf(err) == domain.KindOutcomeUnknown {
			return Account{}, err
		}
		return Account{}, s.withdraw(ctx, tenant, c.op, err)
	}
	if err := s.reach(ctx, "change committed"); err != nil {
		return Account{}, err
	}
	if len(c.op.oldLinks) == 0 {
		return c.account, nil
	}
	return c.account, s.settle(ctx, tenant, c.op)
}
