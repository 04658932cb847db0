package tenancy

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// CreateOperator makes an operator. It can call once it has a key: CreateKey
// with the tenant Operators. Nobody hands out a scope that they don't hold.
//
// Errors: forbidden insufficient_scope, scope_not_held; invalid; conflict
// principal_name_taken.
func (s *Store) CreateOperator(ctx context.Context, caller Scope, want NewPrincipal) (p Principal, replayed bool, err error) {
	if err := demand(caller, OperatorTenants); err != nil {
		return Principal{}, false, err
	}
	if want, err = want.checked(OperatorScopes()); err != nil {
		return Principal{}, false, err
	}
	if err := demandAll(caller, want.Scopes); err != nil {
		return Principal{}, false, err
	}
	return s.createPrincipal(ctx, caller, Operators, want)
}

// Operators lists operators by name, disabled ones too. The position is the
// last name; more tells that others follow.
func (s *Store) Operators(ctx context.Context, caller Scope, page List[string]) (operators []Principal, more bool, err error) {
	if err := demand(caller, OperatorRead); err != nil {
		return nil, false, err
	}
	return s.principals(ctx, Operators, page)
}

// sqlLockInstallation makes one of several transactions go first.
const sqlLockInstallation = `SELECT only_row FROM installation WHERE only_row FOR NO KEY UPDATE`

const sqlOtherAdministrators = `
SELECT count(*) FROM principals
 WHERE tenant_id = $1 AND principal_id <> $2 AND disabled_at IS NULL AND $3 = ANY (scopes)`

// DisableOperator ends an operator for good. Disabling it again changes nothing.
//
// Errors: forbidden; not found principal_not_found; conflict last_operator when
// nobody would be left who can make another.
func (s *Store) DisableOperator(ctx context.Context, caller Scope, id domain.PrincipalID) (p Principal, err error) {
	if err := demand(caller, OperatorTenants); err != nil {
		return Principal{}, err
	}
	err = s.controlTx(ctx, Operators, func(tx pgx.Tx) error {
		// Two that disable each other must not both find the other one left.
		if _, err := tx.Exec(ctx, sqlLockInstallation); err != nil {
			return err
		}
		var others int
		if err := tx.QueryRow(ctx, sqlOtherAdministrators, Operators, id, OperatorTenants).Scan(&others); err != nil {
			return err
		}
		if p, err = s.disablePrincipalTx(ctx, tx, Operators, id); err != nil {
			return err
		}
		if others == 0 {
			return domain.Conflict("last_operator", "Nobody else could administer this installation. Make another operator first.")
		}
		return nil
	})
	if err != nil {
		return Principal{}, err
	}
	return p, nil
}
