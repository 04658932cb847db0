package tenancy

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Key is an API key without its secret.
type Key struct {
	ID        domain.KeyID
	Principal domain.PrincipalID
	Label     string
	CreatedAt time.Time
	ExpiresAt time.Time // zero for never
	RevokedAt time.Time // zero while it works
}

// NewKey asks for a key.
type NewKey struct {
	Principal      domain.PrincipalID
	Label          string    // at most 128 characters, may be empty
	ExpiresAt      time.Time // zero for never
	IdempotencyKey string    // at most 255 characters; empty for none
}

// CreateKey makes a key for a principal of the tenant (for an operator with the
// tenant Operators) and gives its text, hf_<id>_<secret>, which is kept nowhere.
// The retry of a lost answer gets the same text.
//
// Errors: forbidden; invalid; not found principal_not_found; conflict
// principal_disabled; gone key_secret_gone when a retry comes after the server
// key was taken away.
func (s *Store) CreateKey(ctx context.Context, caller Scope, tenant domain.TenantID, want NewKey) (k Key, text string, replayed bool, err error) {
	panic("unwritten")
}

// Keys lists a tenant's keys by id, or with a principal only that one's.
func (s *Store) Keys(ctx context.Context, caller Scope, tenant domain.TenantID, of domain.PrincipalID, page List[domain.KeyID]) (keys []Key, more bool, err error) {
	panic("unwritten")
}

// RevokeKey ends a key and the tokens that it bought, on every process within
// the poll. Revoking it again changes nothing. Errors: forbidden; not found
// key_not_found.
func (s *Store) RevokeKey(ctx context.Context, caller Scope, tenant domain.TenantID, id domain.KeyID) (Key, error) {
	panic("unwritten")
}
