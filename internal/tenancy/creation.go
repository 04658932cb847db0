package tenancy

import (
	"context"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// A thing that an operator makes has an id that derives from who asked, with
// which Idempotency-Key, so that the retry of a lost answer finds it; and its
// row keeps the request's fingerprint, so that another request with the same
// key is told apart. Without a key every request makes another thing.

const maxIdempotencyKey = 255 // characters

// sqlInstallationKey reads the key that ids derive from. It never changes.
const sqlInstallationKey = `SELECT id_key FROM installation WHERE only_row`

// InstallationKey is the key that ids derive from of what operators make: in the
// domains, too, whose things they ask for. It stays the same.
//
// Errors: unavailable.
func (s *Store) InstallationKey(ctx context.Context) (key []byte, err error) {
	err = s.controlRead(ctx, Operators, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, sqlInstallationKey).Scan(&key)
	})
	return key, err
}

// identify gives the id of what the caller asked to be made, of the kind what,
// in a tenant or, with Operators, outside of any.
func identify[K any](ctx context.Context, s *Store, caller Scope, id *domain.ID[K], what string, tenant domain.TenantID, idempotencyKey string) error {
	if idempotencyKey == "" {
		fresh(id, s.now())
		return nil
	}
	if !utf8.ValidString(idempotencyKey) || utf8.RuneCountInString(idempotencyKey) > maxIdempotencyKey {
		return domain.Invalid("idempotency_key_invalid", "The Idempotency-Key is longer than 255 characters, or not UTF-8.")
	}
	key, err := s.InstallationKey(ctx)
	if err != nil {
		return err
	}
	*id = domain.DeriveID[K](key, what, tenant.String(), caller.Principal.String(), idempotencyKey)
	return nil
}

// fresh gives an id of the kind that id is of.
func fresh[K any](id *domain.ID[K], now time.Time) { *id = domain.NewID[K](now) }

// fingerprint is what a request is compared by.
func fingerprint(parts ...string) []byte { return domain.DeriveSecret(nil, parts...) }

// errKeyReused answers an Idempotency-Key that comes with another request.
func errKeyReused() error {
	return domain.Invalid("idempotency_key_reused", "The Idempotency-Key was used with another request. Use a new one.")
}

// printable tells text that may be shown on a line: UTF-8, no control
// characters, at most max characters.
func printable(text string, max int) bool {
	if !utf8.ValidString(text) || utf8.RuneCountInString(text) > max {
		return false
	}
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}
