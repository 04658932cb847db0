package tenancy

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// ReadingLife is how long a reading token lives at most.
const ReadingLife = 10 * time.Minute

// ReadingToken makes a token with which an operator reads one tenant's records, as
// the tenant's own programs do, and does nothing else. purpose is the name under
// which its calls appear: it says for what, and for whom. Whoever asks for one
// records first that it was asked for.
//
// The token is bound to the operator and the key that called: it ends when either is
// revoked, when the key expires, and after ReadingLife. While the tenant is suspended
// it is refused, as all of the tenant's are.
//
// Errors: forbidden insufficient_scope; unauthenticated token_revoked; not found
// tenant_not_found; unavailable auth_unavailable.
func (t *Tokens) ReadingToken(ctx context.Context, caller Scope, tenant domain.TenantID, purpose string) (AccessToken, error) {
	if err := demand(caller, OperatorMigrate); err != nil {
		return AccessToken{}, err
	}
	// As in Grant, the time is taken before the key is looked at.
	now := t.now()
	ring := t.ring.Load()
	if ring == nil {
		return AccessToken{}, errAuthUnavailable()
	}
	signer := ring.signer(now)
	if signer == nil {
		return AccessToken{}, errAuthUnavailable()
	}
	if err := t.store.demandTenant(ctx, tenant); err != nil {
		return AccessToken{}, err
	}
	expires := now.Add(ReadingLife)
	err := t.store.controlRead(ctx, Operators, func(tx pgx.Tx) error {
		k, err := keyTx(ctx, tx, Operators, caller.Key)
		if err != nil {
			return err
		}
		p, err := principalTx(ctx, tx, Operators, k.Principal)
		switch {
		case err != nil:
			return err
		case p.ID != caller.Principal, !p.DisabledAt.IsZero(), !k.RevokedAt.IsZero(), !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt):
			return errTokenRevoked()
		case !k.ExpiresAt.IsZero() && k.ExpiresAt.Before(expires):
			expires = k.ExpiresAt
		}
		return nil
	})
	if domain.KindOf(err) == domain.KindNotFound {
		err = errTokenRevoked()
	}
	if err != nil {
		return AccessToken{}, err
	}
	reader := Scope{Tenant: tenant, Principal: caller.Principal, Key: caller.Key, Name: purpose, Scopes: []string{RecordRead}}
	token, err := sign(signer, t.settings.Issuer, holder{reader, expires}, now)
	if err != nil {
		return AccessToken{}, err
	}
	return AccessToken{Token: token, Type: "Bearer", ExpiresIn: int(expires.Sub(now) / time.Second), Scope: RecordRead}, nil
}
