package tenancy

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// NewKey asks for a key.
type NewKey struct {
	Principal      domain.PrincipalID
	Label          string    // at most 128 characters, may be empty
	ExpiresAt      time.Time // zero for never
	IdempotencyKey string    // at most 255 characters; empty for none
}

const maxLabel = 128 // characters

func (want NewKey) check(now time.Time) error {
	if !printable(want.Label, maxLabel) {
		return domain.Invalid("label_invalid", "A label has at most 128 characters, none of them a control character.").At("/label")
	}
	if !want.ExpiresAt.IsZero() && !want.ExpiresAt.After(now) {
		return domain.Invalid("expiry_past", "The key would have expired already.").At("/expires_at")
	}
	return nil
}

// CreateKey makes a key for a principal of the tenant (for an operator with the
// tenant Operators) and gives its text, hf_<id>_<secret>, which is kept nowhere.
// The retry of a lost answer gets the same text. A principal may have several
// keys, so that one can be replaced without a pause.
//
// Errors: forbidden insufficient_scope, scope_not_held (an operator that holds
// more than the caller); invalid; not found tenant_not_found,
// principal_not_found; conflict principal_disabled; gone key_secret_gone when a
// retry comes after the server key was taken away.
func (s *Store) CreateKey(ctx context.Context, caller Scope, tenant domain.TenantID, want NewKey) (k Key, text string, replayed bool, err error) {
	if err := s.demandKeysOf(ctx, caller, OperatorTenants, tenant); err != nil {
		return Key{}, "", false, err
	}
	if err := want.check(s.now()); err != nil {
		return Key{}, "", false, err
	}
	var id domain.KeyID
	if err := identify(ctx, s, caller, &id, "api-key", tenant, want.IdempotencyKey); err != nil {
		return Key{}, "", false, err
	}
	err = s.controlTx(ctx, tenant, func(tx pgx.Tx) error {
		k, text, replayed, err = s.createKeyTx(ctx, tx, caller, tenant, id, want)
		return err
	})
	if err != nil {
		return Key{}, "", false, err
	}
	return k, text, replayed, nil
}

const sqlCreateKey = `
INSERT INTO api_keys (tenant_id, key_id, principal_id, label, secret_hash, server_key_id, fingerprint, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT DO NOTHING
RETURNING ` + keyColumns

const sqlReplayKey = `SELECT fingerprint = $3, server_key_id FROM api_keys WHERE tenant_id = $1 AND key_id = $2`

func (s *Store) createKeyTx(ctx context.Context, tx pgx.Tx, caller Scope, tenant domain.TenantID, id domain.KeyID, want NewKey) (k Key, text string, replayed bool, err error) {
	p, err := principalTx(ctx, tx, tenant, want.Principal)
	if err != nil {
		return Key{}, "", false, err
	}
	if tenant == Operators {
		if err := demandAll(caller, p.Scopes); err != nil {
			return Key{}, "", false, err
		}
	}
	// No lock holds the principal enabled: a key of a disabled one buys nothing.
	if !p.DisabledAt.IsZero() {
		return Key{}, "", false, domain.Conflict("principal_disabled", "The principal is disabled.")
	}
	secret, err := s.deriveSecret(s.keys.Current(), tenant, want.Principal, id)
	if err != nil {
		return Key{}, "", false, err
	}
	digest := fingerprint("api-key", want.Principal.String(), want.Label, want.ExpiresAt.UTC().Format(time.RFC3339Nano))
	rows, _ := tx.Query(ctx, sqlCreateKey, tenant, id, want.Principal, want.Label, hashSecret(secret), s.keys.Current(), digest,
		s.now(), zeronull.Timestamptz(want.ExpiresAt))
	k, err = pgx.CollectExactlyOneRow(rows, scanKey)
	if !errors.Is(err, pgx.ErrNoRows) {
		return k, formatKey(id, secret), false, err
	}

	var same bool
	var serverKey string
	if err := tx.QueryRow(ctx, sqlReplayKey, tenant, id, digest).Scan(&same, &serverKey); err != nil {
		return Key{}, "", false, err
	}
	if !same {
		return Key{}, "", false, errKeyReused()
	}
	secret, err = s.deriveSecret(serverKey, tenant, want.Principal, id)
	if errors.Is(err, ErrNoServerKey) {
		return Key{}, "", false, domain.Gone("key_secret_gone",
			"The key was made, and its secret can't be shown again. Revoke it and make another.").Because(err)
	}
	if err != nil {
		return Key{}, "", false, err
	}
	k, err = keyTx(ctx, tx, tenant, id)
	return k, formatKey(id, secret), true, err
}
