package tenancy

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Principal is who a caller is: a tenant's program, or an operator. Its keys
// may change; its name and scopes don't.
type Principal struct {
	ID         domain.PrincipalID
	Name       string // unique in its tenant, or among the operators
	Scopes     []string
	CreatedAt  time.Time
	DisabledAt time.Time // zero while it may call
}

// NewPrincipal asks for a principal or an operator.
type NewPrincipal struct {
	Name           string   // 1 to 128 characters, no control characters
	Scopes         []string // at least one of TenantScopes; of OperatorScopes for an operator
	IdempotencyKey string   // at most 255 characters; empty for none
}

// CreatePrincipal makes a principal of a tenant.
//
// Errors: forbidden; invalid; not found tenant_not_found; conflict
// principal_name_taken, tenant_provisioning.
func (s *Store) CreatePrincipal(ctx context.Context, caller Scope, tenant domain.TenantID, want NewPrincipal) (p Principal, replayed bool, err error) {
	panic("unwritten")
}

// Principals lists a tenant's principals by name, disabled ones too.
func (s *Store) Principals(ctx context.Context, caller Scope, tenant domain.TenantID, page List[string]) (principals []Principal, more bool, err error) {
	panic("unwritten")
}

// DisablePrincipal ends a principal for good: its keys buy nothing and its
// tokens are refused. Disabling it again changes nothing.
func (s *Store) DisablePrincipal(ctx context.Context, caller Scope, tenant domain.TenantID, id domain.PrincipalID) (Principal, error) {
	panic("unwritten")
}
