package identity

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// PendingEmailChange is a pending change as anybody who reads the account may see
// it: without its code, which was shown once.
type PendingEmailChange struct {
	ID        domain.EmailChangeID
	Email     Email // the address to be confirmed
	CreatedAt time.Time
	ExpiresAt time.Time
}

var errNoPendingChange = domain.NotFound("no_email_change", "The account has no pending email change.")

// sqlShowEmailChange has a row for an account that is there, and NULLs in it where
// no change is pending. One that has expired stays in its table until the cleanup.
const sqlShowEmailChange = `
SELECT c.change_id, c.email, c.email_key, c.created_at, c.expires_at
  FROM accounts a
  LEFT JOIN email_changes c
    ON c.tenant_id = $1 AND c.number = $2 AND c.account_id = $3 AND c.expires_at > clock_timestamp()
 WHERE a.tenant_id = $1 AND a.number = $2 AND a.account_id = $3 AND a.status <> 'deleted'`

// PendingEmailChange reads the account's pending change.
//
// Errors: not found account_not_found, no_email_change; unavailable; the gates'
// refusals.
func (s *Service) PendingEmailChange(ctx context.Context, scope tenancy.Scope, account domain.AccountID) (PendingEmailChange, error) {
	record := accountRef(account)
	number := int16(record.Number)
	e := s.entry(scope.Tenant, []int16{number})
	e.ReadOnly = true
	var found []*PendingEmailChange
	err := tenancy.Run(ctx, s.router.Database(record.Number), e, func(ctx context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlShowEmailChange, number, account).Query(func(rows pgx.Rows) (err error) {
			found, err = pgx.CollectRows(rows, scanShownChange)
			return err
		})
		return nil
	})
	switch {
	case err != nil:
		return PendingEmailChange{}, err
	case len(found) == 0:
		return PendingEmailChange{}, errNoAccount
	case found[0] == nil:
		return PendingEmailChange{}, errNoPendingChange
	}
	return *found[0], nil
}

// scanShownChange gives nil for an account without a change.
func scanShownChange(row pgx.CollectableRow) (*PendingEmailChange, error) {
	var id *domain.EmailChangeID
	var email, key *string
	var created, expires *time.Time
	if err := row.Scan(&id, &email, &key, &created, &expires); err != nil || id == nil {
		return nil, err
	}
	return &PendingEmailChange{ID: *id, Email: RestoreEmail(*email, *key), CreatedAt: *created, ExpiresAt: *expires}, nil
}
