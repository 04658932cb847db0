package tenancy

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Authenticate tells who holds the token.
//
// Errors: unauthenticated token_missing, token_invalid, token_expired,
// token_revoked; forbidden tenant_suspended, tenant_deleting; unavailable auth_unavailable when
// revocations could not be read for 30 s, issuer_unavailable, or database_unavailable.
func (t *Tokens) Authenticate(ctx context.Context, token string) (Scope, error) {
	if token == "" {
		return Scope{}, domain.Unauthenticated("token_missing", "The request has no token. Send one as Authorization: Bearer.")
	}
	now := t.now()
	k, err := t.knowledge(now)
	if err != nil {
		return Scope{}, err
	}
	h, err := t.verified(ctx, k, token, now)
	if err != nil {
		return Scope{}, err
	}
	if k.revoked(h.scope) {
		return Scope{}, errTokenRevoked()
	}
	h.scope.Expires = h.expires
	if h.scope.IsOperator() {
		return h.scope, nil
	}
	tenant, err := t.tenant(ctx, k, h.scope.Tenant)
	if err != nil {
		return Scope{}, err
	}
	if err := admit(tenant.state); err != nil {
		return Scope{}, err
	}
	h.scope.Settings = tenant.settings
	return h.scope, nil
}

// verified gives the token's holder, from the cache if it was verified before. Where
// the trust has ended by which it was, another one may stand by now: then the token is
// judged anew, and where it fails it stays the holder's whose trust was revoked.
func (t *Tokens) verified(ctx context.Context, k *known, token string, now time.Time) (holder, error) {
	hash := sha256.Sum256([]byte(token))
	before, found := t.tokens.GetIfPresent(hash)
	if found && !now.Before(before.expires) {
		t.tokens.Invalidate(hash)
		found = false
	}
	if found && !k.distrusts(before.scope) {
		return before, nil
	}
	h, err := t.verify(ctx, k, token, now)
	switch {
	case err == nil && now.Before(h.expires):
		t.tokens.Set(hash, h)
	case found && domain.KindOf(err) == domain.KindUnauthenticated:
		return before, nil
	}
	return h, err
}

// verify judges a token: one of this installation's, or of an issuer that a tenant
// trusts.
func (t *Tokens) verify(ctx context.Context, k *known, token string, now time.Time) (holder, error) {
	if from := issuerIn(token); from != "" && from != t.settings.Issuer {
		return t.verifyExternal(ctx, k, token, from, now)
	}
	return t.ring.Load().verify(token, t.settings.Issuer, now)
}

// knownTenant is a tenant as it was when this process knew of all revocations
// up to a sequence.
type knownTenant struct {
	state    string // "" when there is no such tenant any more
	settings Settings
	sequence int64
}

func (t knownTenant) gone() bool { return t.state == "" || t.state == TenantPurged }

const sqlKnownTenant = `SELECT state, handle_policy, id_key FROM tenants WHERE tenant_id = $1`

// tenant reads the tenant, or gives it as it was read before if nothing has
// happened to it since. The sequence was taken before the read: if the tenant
// changes in between, the change has a higher one, and what was read is
// outdated from the start.
func (t *Tokens) tenant(ctx context.Context, k *known, id domain.TenantID) (knownTenant, error) {
	if tenant, found := t.tenants.GetIfPresent(id); found && k.current(id, tenant.sequence) {
		return tenant, nil
	}
	tenant := knownTenant{sequence: k.sequence}
	err := t.store.controlRead(ctx, id, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, sqlKnownTenant, id).Scan(&tenant.state, &tenant.settings.HandlePolicy, &tenant.settings.IDKey)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return knownTenant{}, nil
	}
	if err != nil {
		return knownTenant{}, err
	}
	t.tenants.Set(id, tenant)
	return tenant, nil
}

func errTokenRevoked() error {
	return domain.Unauthenticated("token_revoked", "The token, or the key that bought it, was revoked.")
}

func errTenantSuspended() error {
	return domain.Forbidden("tenant_suspended", "The tenant is suspended. Ask its operator to resume it.")
}

func errTenantDeleting() error {
	return domain.Forbidden("tenant_deleting", "The tenant is being deleted. Its operator can call that off until its grace is over.")
}
