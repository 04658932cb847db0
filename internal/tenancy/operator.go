package tenancy

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// CreateOperator makes an operator. It can call once it has a key: CreateKey
// with the tenant Operators. Nobody can hand out a scope that they don't hold.
//
// Errors: forbidden; invalid; conflict operator_name_taken.
func (s *Store) CreateOperator(ctx context.Context, caller Scope, want NewPrincipal) (p Principal, replayed bool, err error) {
	panic("unwritten")
}

// Operators lists operators by name, disabled ones too.
func (s *Store) Operators(ctx context.Context, caller Scope, page List[string]) (operators []Principal, more bool, err error) {
	panic("unwritten")
}

// DisableOperator ends an operator for good. Conflict last_operator when nobody
// would be left with operator:tenants.
func (s *Store) DisableOperator(ctx context.Context, caller Scope, id domain.PrincipalID) (Principal, error) {
	panic("unwritten")
}
