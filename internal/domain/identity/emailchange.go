package identity

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// EmailChange is a pending change of an account's address. Its code is for the
// tenant's application to deliver to that address; only a hash of it is stored.
type EmailChange struct {
	ID        domain.EmailChangeID
	Email     Email  // the address to be confirmed
	Code      string // eight digits
	ExpiresAt time.Time
}

// emailChange is an EmailChange on its way into the database.
type emailChange struct {
	id      domain.EmailChangeID
	email   Email
	secrets Secrets

	code      string // these are set by queue
	keyID     string // of the server key that the code derives from
	expiresAt time.Time
}

func (s *Service) newEmailChange(id domain.EmailChangeID, email Email) *emailChange {
	return &emailChange{id: id, email: email, secrets: s.secrets}
}

// codeParts are what a code derives from. The time is the beginning's own: a
// change that is begun again under the same id gets another code, and the one
// that was delivered before is as dead as the change that it was for.
func codeParts(tenant domain.TenantID, account domain.AccountID, change domain.EmailChangeID, expiresAt time.Time) []string {
	return []string{"email-code", tenant.String(), account.String(), change.String(), strconv.FormatInt(expiresAt.UnixMicro(), 10)}
}

// emailCode makes eight digits of a secret. The bias of the modulus is under
// one in a hundred billion.
func emailCode(secret []byte) string {
	return fmt.Sprintf("%08d", binary.BigEndian.Uint64(secret)%100_000_000)
}

// shown is the change as its caller sees it, this once.
func (c *emailChange) shown() *EmailChange {
	return &EmailChange{ID: c.id, Email: c.email, Code: c.code, ExpiresAt: c.expiresAt}
}

// hashCode is what is stored of a code.
func hashCode(code string) []byte {
	hash := sha256.Sum256([]byte(code))
	return hash[:]
}

// An account has one pending change: a new one takes the place of what was there.
const sqlBeginEmailChange = `
INSERT INTO email_changes (tenant_id, number, account_id, change_id, email, email_key,
                           code_hash, server_key_id, wrong_codes, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, $10)
ON CONFLICT (tenant_id, number, account_id) DO UPDATE
   SET change_id = excluded.change_id, email = excluded.email, email_key = excluded.email_key,
       code_hash = excluded.code_hash, server_key_id = excluded.server_key_id, wrong_codes = 0,
       created_at = excluded.created_at, expires_at = excluded.expires_at`

// queue gives the change its term and its code, and writes it beside its account.
func (c *emailChange) queue(tx *tenancy.Tx, account domain.AccountID, now time.Time) {
	c.expiresAt = now.Add(emailChangeTerm)
	secret, keyID := c.secrets.Derive(codeParts(tx.Tenant(), account, c.id, c.expiresAt)...)
	c.code, c.keyID = emailCode(secret), keyID
	tx.Queue(sqlBeginEmailChange, int16(accountRef(account).Number), account, c.id, c.email.String(), c.email.Key(),
		hashCode(c.code), c.keyID, now, c.expiresAt)
}

const sqlReadEmailChange = `
SELECT change_id, email, email_key, server_key_id, expires_at FROM email_changes
 WHERE tenant_id = $1 AND number = $2 AND account_id = $3 AND expires_at > clock_timestamp()`

// pendingEmailChange gives the account's pending change with its code, which it
// derives anew, or nil when there is none.
func (s *Service) pendingEmailChange(ctx context.Context, tenant domain.TenantID, account domain.AccountID) (*EmailChange, error) {
	record := accountRef(account)
	e := s.entry(tenant, []int16{int16(record.Number)})
	e.ReadOnly = true
	var found *EmailChange
	err := tenancy.Run(ctx, s.router.Database(record.Number), e, func(ctx context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlReadEmailChange, int16(record.Number), account).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var c EmailChange
				var email, emailKey, keyID string
				if err := rows.Scan(&c.ID, &email, &emailKey, &keyID, &c.ExpiresAt); err != nil {
					return err
				}
				c.Email = RestoreEmail(email, emailKey)
				if secret, ok := s.secrets.DeriveWith(keyID, codeParts(tenant, account, c.ID, c.ExpiresAt)...); ok {
					c.Code = emailCode(secret)
					found = &c
				}
			}
			return rows.Err()
		})
		return nil
	})
	return found, err
}
