package identity

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// BeginEmailChange asks for a change of an account's address.
type BeginEmailChange struct {
	Email          string
	IdempotencyKey string // at most 255 bytes; "" for none
}

// BegunEmailChange is the answer to BeginEmailChange.
type BegunEmailChange struct {
	EmailChange
	Replayed bool // answered from the change that an earlier request with this key began
}

// BeginEmailChange begins a change of an account's address: its first, another,
// or the same to be verified anew. The address in force stays so until the code
// is confirmed, and nothing is claimed. A change that was pending ends.
//
// With an idempotency key the change's id derives from the caller and the key,
// and its code from the id and its term, so that a repeated request gets the same
// answer for as long as the change is pending. Later it begins the change anew,
// with another code.
//
// Errors: not found, invalid (with pointers), unavailable, outcome unknown.
func (s *Service) BeginEmailChange(ctx context.Context, scope tenancy.Scope, account domain.AccountID, req BeginEmailChange) (BegunEmailChange, error) {
	policy, err := ParseHandlePolicy(scope.Settings.HandlePolicy)
	if err != nil {
		return BegunEmailChange{}, err
	}
	email, err := ParseEmail(policy, req.Email)
	if err != nil {
		return BegunEmailChange{}, at(err, "/email")
	}
	id := domain.NewID[domain.EmailChangeKind](time.Now())
	if req.IdempotencyKey != "" {
		id = domain.DeriveID[domain.EmailChangeKind](scope.Settings.IDKey, "email-change", scope.Principal.String(), account.String(), req.IdempotencyKey)
	}
	change := s.newEmailChange(id, email)
	var replayed bool
	err = s.changeAccount(ctx, scope.Tenant, accountRef(account), needs{emailChange: true}, func(a *lockedAccount) error {
		replayed = false
		switch {
		case !a.account.visible():
			return errNoAccount
		case !a.pending.is(id, a.now):
			change.queue(a.Tx, account, a.now)
			return nil
		case a.pending.email.String() != email.String():
			return errKeyReused
		}
		replayed = true
		return change.recall(scope.Tenant, account, a.pending)
	})
	if err != nil {
		return BegunEmailChange{}, err
	}
	return BegunEmailChange{*change.shown(), replayed}, nil
}

// recall gives a change the term and the code that it has had from its beginning,
// which may come from a server key that is no longer the first.
func (c *emailChange) recall(tenant domain.TenantID, account domain.AccountID, standing *pendingChange) error {
	secret, ok := c.secrets.DeriveWith(standing.serverKeyID, codeParts(tenant, account, standing.id, standing.expiresAt)...)
	if !ok {
		return domain.Unavailable("server_key_missing",
			"The code can't be shown again: the key that it derives from was taken away. Begin another change with a new Idempotency-Key.")
	}
	c.code, c.keyID, c.expiresAt = emailCode(secret), standing.serverKeyID, standing.expiresAt
	return nil
}

// pendingChange is a row of email_changes.
type pendingChange struct {
	id          domain.EmailChangeID
	email       Email
	codeHash    []byte
	serverKeyID string
	wrongCodes  int16
	expiresAt   time.Time
}

// is tells whether the change is the one of that id, and has not expired.
func (c *pendingChange) is(id domain.EmailChangeID, now time.Time) bool {
	return c != nil && c.id == id && now.Before(c.expiresAt)
}

// begunWith tells whether two readings are of one beginning of one change.
func (c *pendingChange) begunWith(other *pendingChange) bool {
	return c != nil && c.id == other.id && c.expiresAt.Equal(other.expiresAt)
}

// scanPendingChange scans an ordinal and then a change's columns.
func scanPendingChange(rows pgx.Rows, ordinal *int64) (*pendingChange, error) {
	var c pendingChange
	var email, key string
	err := rows.Scan(ordinal, &c.id, &email, &key, &c.codeHash, &c.serverKeyID, &c.wrongCodes, &c.expiresAt)
	c.email = RestoreEmail(email, key)
	return &c, err
}

// errNoEmailChange is one answer for a change that never was, and for one that
// was replaced, cancelled, confirmed, has expired, or ended by wrong codes.
var errNoEmailChange = domain.NotFound("email_change_not_found",
	"The account has no pending email change with this id. Begin another.")

const sqlCancelEmailChange = `
DELETE FROM email_changes WHERE tenant_id = $1 AND number = $2 AND account_id = $3 AND change_id = $4`

// CancelEmailChange ends a pending change. Errors: not found; unavailable;
// outcome unknown.
func (s *Service) CancelEmailChange(ctx context.Context, scope tenancy.Scope, account domain.AccountID, change domain.EmailChangeID) error {
	return s.changeAccount(ctx, scope.Tenant, accountRef(account), needs{emailChange: true}, func(a *lockedAccount) error {
		switch {
		case !a.account.visible():
			return errNoAccount
		case !a.pending.is(change, a.now):
			return errNoEmailChange
		}
		a.queue(sqlCancelEmailChange, change)
		return nil
	})
}
