package tenancy

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/domain"
)

// BootstrapKey is a configured key of one of the first operators.
type BootstrapKey struct {
	Name string // the operator's
	Key  string // the whole text, hf_<id>_<secret>: GenerateKey makes one
}

const sqlAnyOperator = `SELECT EXISTS (SELECT FROM principals WHERE tenant_id = $1)`

const sqlBootstrapKey = `
INSERT INTO api_keys (tenant_id, key_id, principal_id, label, secret_hash, fingerprint, created_at)
VALUES ($1, $2, $3, 'bootstrap', $4, $5, $6)`

// Bootstrap makes the first operators, with every operator scope, when there has
// never been one, and tells whether it did. It may be repeated, and run by
// several processes at once: the first one makes them all. Its errors never hold
// a key.
func (s *Store) Bootstrap(ctx context.Context, keys []BootstrapKey) (made bool, err error) {
	for _, k := range keys {
		if _, _, ok := parseKey(k.Key); !ok {
			return false, fmt.Errorf("the key of the operator %q is not hf_<id>_<secret>", k.Name)
		}
	}
	err = s.controlTx(ctx, Operators, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockInstallation); err != nil {
			return err
		}
		var exists bool
		if err := tx.QueryRow(ctx, sqlAnyOperator, Operators).Scan(&exists); err != nil || exists {
			return err
		}
		for _, k := range keys {
			if err := s.bootstrapTx(ctx, tx, k); err != nil {
				return fmt.Errorf("first operator %q: %w", k.Name, err)
			}
		}
		made = len(keys) > 0
		return nil
	})
	return made && err == nil, err
}

func (s *Store) bootstrapTx(ctx context.Context, tx pgx.Tx, k BootstrapKey) error {
	want, err := NewPrincipal{Name: k.Name, Scopes: OperatorScopes()}.checked(OperatorScopes())
	if err != nil {
		return err
	}
	var operator domain.PrincipalID
	fresh(&operator, s.now())
	if _, _, err := s.createPrincipalTx(ctx, tx, Operators, operator, want); err != nil {
		return err
	}
	id, secret, _ := parseKey(k.Key)
	_, err = tx.Exec(ctx, sqlBootstrapKey, Operators, id, operator, hashSecret(secret), fingerprint("bootstrap", k.Name), s.now())
	if err != nil {
		return err
	}
	_, err = audit.AppendTx(ctx, tx, s.now(), audit.Entry{
		Operation: "bootstrap", Outcome: audit.Done, Subjects: map[string]string{"id": operator.String(), "name": k.Name},
	})
	return err
}
