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
	Label          string     // at most 128 characters, may be empty
	ExpiresAt      *time.Time // in the future, at most 100 years ahead; nil for never
	IdempotencyKey string     // at most 255 characters; empty for none
}

const (
	maxLabel     = 128 // characters
	maxKeysYears = 100 // of a key that expires: far from the last year that JSON's times can tell, 9999
)

func (want NewKey) check() error {
	if !printable(want.Label, maxLabel) {
		return domain.Invalid("label_invalid", "A label has at most 128 characters, none of them a control character.").At("/label")
	}
	return nil
}

// checkExpiry is for a key that isn't made yet: the retry of a creation is
// answered after the key has expired too.
func (want NewKey) checkExpiry(now time.Time) error {
	at := want.ExpiresAt
	if at == nil || at.After(now) && !at.After(now.UTC().AddDate(maxKeysYears, 0, 0)) {
		return nil
	}
	return domain.Invalid("expires_at_invalid", "A key expires in the future, at most 100 years ahead.").At("/expires_at")
}

// expiry is what the fingerprint says, and what is stored: the zero time, which
// checkExpiry lets nobody ask for, is NULL.
func (want NewKey) expiry() (told string, stored zeronull.Timestamptz) {
	if want.ExpiresAt == nil {
		return "", stored
	}
	return want.ExpiresAt.UTC().Format(time.RFC3339Nano), zeronull.Timestamptz(*want.ExpiresAt)
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
	if err := want.check(); err != nil {
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
INSERT INTO api_keys (tenant_id, key_id, principal_id, label, secret_hash, server_key_id, fingerprint, created_at, expires_at, created_by)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT DO NOTHING
RETURNING ` + keyColumns

const sqlKeyMade = `SELECT EXISTS (SELECT FROM api_keys WHERE tenant_id = $1 AND key_id = $2)`

const sqlReplayKey = `SELECT fingerprint = $3, server_key_id FROM api_keys WHERE tenant_id = $1 AND key_id = $2`

func (s *Store) createKeyTx(ctx context.Context, tx pgx.Tx, caller Scope, tenant domain.TenantID, id domain.KeyID, want NewKey) (k Key, text string, replayed bool, err error) {
	if fault := want.checkExpiry(s.now()); fault != nil {
		var made bool // and never deleted: what follows finds it too
		if err := tx.QueryRow(ctx, sqlKeyMade, tenant, id).Scan(&made); err != nil {
			return Key{}, "", false, err
		}
		if !made {
			return Key{}, "", false, fault
		}
	}
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
	expiry, expiresAt := want.expiry()
	digest := fingerprint("api-key", want.Principal.String(), want.Label, expiry)
	rows, _ := tx.Query(ctx, sqlCreateKey, tenant, id, want.Principal, want.Label, hashSecret(secret), s.keys.Current(), digest,
		s.now(), expiresAt, zeronull.UUID(caller.Principal))
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
