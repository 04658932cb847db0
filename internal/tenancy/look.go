package tenancy

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Principal reads a principal of a tenant, or with the tenant Operators an operator.
// Errors: forbidden; not found principal_not_found.
func (s *Store) Principal(ctx context.Context, caller Scope, tenant domain.TenantID, id domain.PrincipalID) (Principal, error) {
	return look(ctx, s, caller, tenant, id, principalTx)
}

// Key reads a key of a tenant's, or with the tenant Operators of an operator's.
// Errors: forbidden; not found key_not_found.
func (s *Store) Key(ctx context.Context, caller Scope, tenant domain.TenantID, id domain.KeyID) (Key, error) {
	return look(ctx, s, caller, tenant, id, keyTx)
}

// Client reads a tenant's public client. Errors: forbidden; not found
// client_not_found.
func (s *Store) Client(ctx context.Context, caller Scope, tenant domain.TenantID, id domain.ClientID) (Client, error) {
	return look(ctx, s, caller, tenant, id, clientTx)
}

// look reads one thing of a tenant, for an operator.
func look[T, ID any](ctx context.Context, s *Store, caller Scope, tenant domain.TenantID, id ID,
	read func(context.Context, pgx.Tx, domain.TenantID, ID) (T, error)) (thing T, err error) {
	if err := demand(caller, OperatorTenants); err != nil {
		return thing, err
	}
	err = s.controlRead(ctx, tenant, func(tx pgx.Tx) error {
		thing, err = read(ctx, tx, tenant, id)
		return err
	})
	return thing, err
}
