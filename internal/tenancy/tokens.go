package tenancy

import (
	"context"
	"log/slog"
	"time"
)

// Tokens sells access tokens to API keys and verifies them: all that one process
// knows of signing keys, revocations and tenants, kept fresh by Run.
type Tokens struct {
	store *Store
}

// TokenSettings say whose tokens they are.
type TokenSettings struct {
	Issuer      string        // the iss claim: the API's public URL
	RotateEvery time.Duration // how long a signing key signs; 0 for 30 days
}

// NewTokens makes a Tokens that knows nothing yet: until the first Poll it
// refuses everybody.
func NewTokens(store *Store, settings TokenSettings, log *slog.Logger) (*Tokens, error) {
	panic("unwritten")
}

// Authenticate tells who holds the token.
//
// Errors: unauthenticated token_missing, token_invalid, token_expired,
// token_revoked; forbidden tenant_suspended; unavailable auth_unavailable when
// revocations could not be read for 30 s.
func (t *Tokens) Authenticate(ctx context.Context, token string) (Scope, error) {
	panic("unwritten")
}

// Poll reads what was revoked and which signing keys there are, and makes the
// next signing key when it is due. Run polls each second; call it once before
// serving.
func (t *Tokens) Poll(ctx context.Context) error { panic("unwritten") }

// Run polls each second until ctx ends, and returns nil then.
func (t *Tokens) Run(ctx context.Context) error { panic("unwritten") }

// Ready tells why Authenticate would refuse everybody, or nil: for readyz.
func (t *Tokens) Ready() error { panic("unwritten") }
