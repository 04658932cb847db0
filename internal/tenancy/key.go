package tenancy

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

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

const keyColumns = `key_id, principal_id, label, created_at, expires_at, revoked_at`

func scanKey(row pgx.CollectableRow) (Key, error) {
	var k Key
	err := row.Scan(&k.ID, &k.Principal, &k.Label, &k.CreatedAt,
		(*zeronull.Timestamptz)(&k.ExpiresAt), (*zeronull.Timestamptz)(&k.RevokedAt))
	k.CreatedAt, k.ExpiresAt, k.RevokedAt = k.CreatedAt.UTC(), k.ExpiresAt.UTC(), k.RevokedAt.UTC()
	return k, err
}

// demandKeysOf refuses a caller without the scope, and a tenant that isn't there.
func (s *Store) demandKeysOf(ctx context.Context, caller Scope, scope string, tenant domain.TenantID) error {
	if err := demand(caller, scope); err != nil || tenant == Operators {
		return err
	}
	_, err := s.tenant(ctx, tenant)
	return err
}

const sqlKey = `SELECT ` + keyColumns + ` FROM api_keys WHERE tenant_id = $1 AND key_id = $2`

func keyTx(ctx context.Context, tx pgx.Tx, tenant domain.TenantID, id domain.KeyID) (Key, error) {
	rows, _ := tx.Query(ctx, sqlKey, tenant, id)
	k, err := pgx.CollectExactlyOneRow(rows, scanKey)
	if errors.Is(err, pgx.ErrNoRows) {
		return Key{}, domain.NotFound("key_not_found", "There is no key of that id here.")
	}
	return k, err
}

const sqlKeys = `
SELECT ` + keyColumns + ` FROM api_keys
 WHERE tenant_id = $1 AND principal_id = $2 AND key_id > $3 ORDER BY key_id LIMIT $4`

// Keys lists a principal's keys by id, revoked ones too. An operator's (with the
// tenant Operators) take operator:read, a tenant's operator:tenants. The position
// is the last id; more tells that others follow.
//
// Errors: forbidden; not found tenant_not_found, principal_not_found.
func (s *Store) Keys(ctx context.Context, caller Scope, tenant domain.TenantID, of domain.PrincipalID, page List[domain.KeyID]) (keys []Key, more bool, err error) {
	scope := OperatorTenants
	if tenant == Operators {
		scope = OperatorRead
	}
	if err := s.demandKeysOf(ctx, caller, scope, tenant); err != nil {
		return nil, false, err
	}
	err = s.controlRead(ctx, tenant, func(tx pgx.Tx) error {
		if _, err := principalTx(ctx, tx, tenant, of); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, sqlKeys, tenant, of, page.After, page.limit()+1)
		keys, err = pgx.CollectRows(rows, scanKey)
		return err
	})
	keys, more = cut(keys, page.limit())
	return keys, more, err
}

const sqlRevokeKey = `
UPDATE api_keys SET revoked_at = $3
 WHERE tenant_id = $1 AND key_id = $2 AND revoked_at IS NULL
RETURNING ` + keyColumns

// RevokeKey ends a key and the tokens that it bought, on every process within
// the poll. Revoking it again changes nothing. Errors: forbidden; not found
// tenant_not_found, key_not_found.
func (s *Store) RevokeKey(ctx context.Context, caller Scope, tenant domain.TenantID, id domain.KeyID) (k Key, err error) {
	if err := s.demandKeysOf(ctx, caller, OperatorTenants, tenant); err != nil {
		return Key{}, err
	}
	err = s.controlTx(ctx, tenant, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlRevokeKey, tenant, id, s.now())
		k, err = pgx.CollectExactlyOneRow(rows, scanKey)
		if errors.Is(err, pgx.ErrNoRows) {
			k, err = keyTx(ctx, tx, tenant, id)
			return err
		}
		if err != nil {
			return err
		}
		return s.revokeTx(ctx, tx, revocation{Tenant: tenant, Kind: revokedKey, Subject: id})
	})
	return k, err
}
