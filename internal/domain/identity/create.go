package identity

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// CreateAccount asks for an account, in the caller's words.
type CreateAccount struct {
	Handle         string          `json:"handle"`
	Email          *string         `json:"email,omitempty"`
	EmailVerified  bool            `json:"email_verified"` // the tenant's word that the address is the account's
	DisplayName    *string         `json:"display_name,omitempty"`
	Attributes     json.RawMessage `json:"attributes,omitempty"` // a JSON object, or nil
	IdempotencyKey string          `json:"-"`                    // at most 255 bytes; "" for none
}

// Created is the answer to CreateAccount.
type Created struct {
	Account     Account
	Replayed    bool         // answered from the account that an earlier request with this key made
	EmailChange *EmailChange // begun for an address that the tenant hasn't verified
}

// Create makes an account and claims its handle, and its email if the tenant
// says that it is verified. An unverified address is never claimed, so nobody
// squats on it: it begins as a pending change.
//
// With an idempotency key the id derives from the caller and the key, so that a
// repeated request meets the account that the first one made.
//
// Errors: invalid (with pointers), conflict handle_taken or email_taken,
// conflict claim_pending or request_in_flight (retryable), gone when the key's
// account was deleted, unavailable, outcome unknown.
func (s *Service) Create(ctx context.Context, scope tenancy.Scope, req CreateAccount) (Created, error) {
	account, change, err := s.newAccount(scope, req)
	if err != nil {
		return Created{}, err
	}
	c := &creating{account: account, change: change, actor: principalActor(scope)}
	found, err := s.createRecord(ctx, scope.Tenant, c)
	switch {
	case err != nil:
		return Created{}, err
	case found != nil:
		return s.replay(ctx, scope.Tenant, account, found)
	}
	created := Created{Account: account.Account}
	if change != nil {
		created.EmailChange = change.shown()
	}
	return created, nil
}

// createRecord makes an account if the tenant may have one more, or gives the one
// of its id that is there already.
func (s *Service) createRecord(ctx context.Context, tenant domain.TenantID, c *creating) (found *accountRow, err error) {
	if full := s.quotas.Demand(ctx, tenant, domain.Accounts, 1); full != nil {
		r, err := s.read(ctx, tenant, accountRef(c.account.ID), true)
		switch {
		case err != nil:
			return nil, err
		case r.account == nil:
			return nil, full
		}
		return r.account, nil
	}
	if found, err = s.createWithin(ctx, tenant, c); err == nil && found == nil {
		s.quotas.Grew(tenant, domain.Accounts, 1)
	}
	return found, err
}

// createWithin runs the protocol for an account.
func (s *Service) createWithin(ctx context.Context, tenant domain.TenantID, c *creating) (found *accountRow, err error) {
	// From here on a caller that goes away no longer stops the work: what is
	// prepared would stand in others' way until its deadline.
	ctx = context.WithoutCancel(ctx)
	if made, err := s.tryAtOnce(ctx, tenant, c); err != nil || made {
		return nil, err
	}
	for range 2 {
		if c.op, err = creationOf(ctx, c.account); err != nil {
			return nil, err
		}
		p := &preparing{op: c.op}
		if err := s.preparing.Do(ctx, s.router.Database(c.op.record.Number), tenant, p); err != nil {
			return nil, nothingHappened(err)
		}
		switch {
		case p.granted:
			return nil, s.complete(ctx, tenant, c)
		case p.found.account != nil:
			return p.found.account, nil
		case p.found.operation != nil:
			if err := s.helpEarlier(ctx, tenant, c.account.fingerprint, p.found); err != nil {
				return nil, err
			}
		}
	}
	return nil, errInFlight
}

// tryAtOnce makes the account in one transaction, if one can and nothing is in the
// way.
func (s *Service) tryAtOnce(ctx context.Context, tenant domain.TenantID, c *creating) (made bool, err error) {
	db := s.together(c.account)
	if s.stepwise || db == nil {
		return false, nil
	}
	if c.op, err = creationOf(ctx, c.account); err != nil {
		return false, err
	}
	if err := s.creatingAtOnce.Do(ctx, db, tenant, c); err != nil || !c.committed {
		return false, err
	}
	for _, l := range c.op.newLinks {
		s.metrics.claimed(ctx, l, true)
	}
	return true, s.reach(ctx, "committed")
}

// complete runs the rest of the protocol for a prepared creation.
func (s *Service) complete(ctx context.Context, tenant domain.TenantID, c *creating) error {
	op := c.op
	if err := s.reach(ctx, "prepared"); err != nil {
		return err
	}
	if err := s.claim(ctx, tenant, op); err != nil {
		return s.withdraw(ctx, tenant, op, err)
	}
	if err := s.reach(ctx, "claimed"); err != nil {
		return err
	}
	if err := s.creating.Do(ctx, s.router.Database(op.record.Number), tenant, c); err != nil {
		if domain.KindOf(err) == domain.KindOutcomeUnknown {
			return err
		}
		return s.withdraw(ctx, tenant, op, err)
	}
	if !c.committed {
		return s.withdraw(ctx, tenant, op, errExpired)
	}
	return s.reach(ctx, "committed")
}

var (
	errInFlight = domain.Conflict("request_in_flight",
		"Another request with this Idempotency-Key is under way. Repeat this one in a moment.").After(time.Second)
	errExpired = domain.Unavailable("operation_expired",
		"The change took too long and was called off. Nothing was changed; try again.").After(time.Second)
	errKeyReused = domain.Invalid("idempotency_key_reused",
		"This Idempotency-Key was used with another request. Use a new key for a new request.")
	errDeleted = domain.Gone("account_deleted",
		"The account that this Idempotency-Key made has been deleted. Use a new key to make another.")
)

// nothingHappened turns an unknown outcome of a prepare into unavailable: a
// prepared operation is no change yet, and ends by itself.
func nothingHappened(err error) error {
	if domain.KindOf(err) == domain.KindOutcomeUnknown {
		return domain.Unavailable("database_unavailable",
			"The connection to a database was lost. Nothing was changed; try again.").After(time.Second).Because(err)
	}
	return err
}

// withdraw calls off the caller's own operation after a failure, which it
// returns. Whatever of that fails is left to recovery.
func (s *Service) withdraw(ctx context.Context, tenant domain.TenantID, op *operation, why error) error {
	if stopped(why) {
		return why
	}
	gone, err := s.abandon(ctx, tenant, op)
	if err == nil && gone {
		// Somebody aborted and cleared it. Claims that arrived after that are
		// unknown to everybody but us.
		err = s.release(ctx, tenant, op.record, op.newLinks)
	}
	if stopped(err) {
		return err
	}
	if err != nil {
		s.metrics.recovered(ctx, "left_to_recovery")
	}
	return why
}

// proposed is an account as its operation keeps it, for people who look into
// one that a crash left: recovery aborts it and needs nothing of it.
type proposed struct {
	Status      Status          `json:"status"`
	Handle      string          `json:"handle"`
	Email       string          `json:"email,omitempty"`
	DisplayName *string         `json:"display_name,omitempty"`
	Attributes  json.RawMessage `json:"attributes"`
}

// creationOf makes the operation that creates an account, under a new token.
func creationOf(ctx context.Context, account *accountRow) (*operation, error) {
	token := domain.RandomID[domain.TokenKind]()
	account.handleToken, account.skeletonToken, account.emailToken = token, token, token
	proposal, err := json.Marshal(proposed{account.Status, account.Handle.String(), account.Email.String(), account.DisplayName, account.Attributes})
	if err != nil {
		return nil, err
	}
	return &operation{
		record:      accountRef(account.ID),
		token:       token,
		state:       prepared,
		proposal:    proposal,
		newLinks:    account.links(),
		fingerprint: account.fingerprint,
		traceparent: traceparent(ctx),
	}, nil
}

// fingerprintOf tells a repeated request from another one under the same key.
func fingerprintOf(req CreateAccount) []byte {
	canonical, _ := json.Marshal(req) // strings, booleans and JSON that was validated
	sum := sha256.Sum256(canonical)
	return sum[:]
}
