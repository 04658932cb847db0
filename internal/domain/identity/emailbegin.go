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
	record := accountRef(account)
	var replayed bool
	err = tenancy.Run(ctx, s.router.Database(record.Number), s.entry(scope.Tenant, []int16{int16(record.Number)}),
		func(ctx context.Context, tx *tenancy.Tx) error {
			var standing *pendingChange
			a, now, err := lockAccount(ctx, tx, record, func() { queueLockEmailChange(tx, record, &standing) })
			if err != nil {
				return err
			}
			if !a.visible() {
				return errNoAccount
			}
			if standing.is(id, now) {
				if standing.email.String() != email.String() {
					return errKeyReused
				}
				replayed = true
				return change.recall(scope.Tenant, account, standing)
			}
			change.queue(tx, account, now)
			return nil
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

const sqlLockEmailChange = `
SELECT change_id, email, email_key, code_hash, server_key_id, wrong_codes, expires_at FROM email_changes
 WHERE tenant_id = $1 AND number = $2 AND account_id = $3
   FOR UPDATE`

// queueLockEmailChange locks and reads the account's change, behind its account.
func queueLockEmailChange(tx *tenancy.Tx, record ref, into **pendingChange) {
	tx.Queue(sqlLockEmailChange, int16(record.Number), record.ID).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var c pendingChange
			var email, key string
			if err := rows.Scan(&c.id, &email, &key, &c.codeHash, &c.serverKeyID, &c.wrongCodes, &c.expiresAt); err != nil {
				return err
			}
			c.email = RestoreEmail(email, key)
			*into = &c
		}
		return rows.Err()
	})
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
	record := accountRef(account)
	return tenancy.Run(ctx, s.router.Database(record.Number), s.entry(scope.Tenant, []int16{int16(record.Number)}),
		func(ctx context.Context, tx *tenancy.Tx) error {
			var standing *pendingChange
			a, now, err := lockAccount(ctx, tx, record, func() { queueLockEmailChange(tx, record, &standing) })
			switch {
			case err != nil:
				return err
			case !a.visible():
				return errNoAccount
			case !standing.is(change, now):
				return errNoEmailChange
			}
			tx.Queue(sqlCancelEmailChange, int16(record.Number), account, change)
			return nil
		})
}
