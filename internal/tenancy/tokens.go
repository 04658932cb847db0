package tenancy

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/maypok86/otter/v2"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

const (
	pollEvery   = time.Second
	pollTimeout = 5 * time.Second
	// maxBlind is how long a process may go on without knowing what was revoked.
	maxBlind = 30 * time.Second

	maxCachedTokens  = 1 << 16
	maxCachedTenants = 1 << 16
	maxCachedClients = 1 << 14
	maxCachedIssuers = 1 << 12
)

// Tokens sells access tokens to API keys and verifies them and those of the issuers
// that tenants trust, and sells those of devices, which tenants' applications
// verify: all that one process knows of
// signing keys, revocations, tenants and their public clients, kept fresh by Run.
//
// A verified token is kept, by its hash, until it expires, since verifying a
// signature must not be the price of every call. What may change under a token
// is looked at on every call: a revoked key or principal, a suspended tenant.
type Tokens struct {
	store    *Store
	settings TokenSettings
	log      *slog.Logger
	now      func() time.Time

	polling sync.Mutex // polls go one after the other, so that knowledge only grows
	known   atomic.Pointer[known]
	ring    atomic.Pointer[keyring]
	tokens  *otter.Cache[[sha256.Size]byte, holder]
	tenants *otter.Cache[domain.TenantID, knownTenant]
	clients *otter.Cache[domain.ClientID, knownClient]
	issuers *otter.Cache[string, knownIssuer] // by their URLs
	unknown *otter.Cache[string, time.Time]   // issuers that nobody trusted, and until when that is believed

	issuerKeys *issuerKeys
}

// TokenSettings say whose tokens they are.
type TokenSettings struct {
	Issuer      string        // the iss claim: the API's public URL
	RotateEvery time.Duration // how long a signing key signs; 0 for 30 days
	Fetch       FetchSettings // where the keys of tenants' own issuers are fetched from
}

// NewTokens makes a Tokens that knows nothing yet: until the first Poll it
// refuses everybody.
func NewTokens(store *Store, settings TokenSettings, log *slog.Logger) (*Tokens, error) {
	if settings.Issuer == "" {
		return nil, errors.New("tokens need an issuer")
	}
	if settings.RotateEvery == 0 {
		settings.RotateEvery = rotateEvery
	}
	tokens, err := otter.New(&otter.Options[[sha256.Size]byte, holder]{MaximumSize: maxCachedTokens})
	if err != nil {
		return nil, err
	}
	tenants, err := otter.New(&otter.Options[domain.TenantID, knownTenant]{MaximumSize: maxCachedTenants})
	if err != nil {
		return nil, err
	}
	clients, err := otter.New(&otter.Options[domain.ClientID, knownClient]{MaximumSize: maxCachedClients})
	if err != nil {
		return nil, err
	}
	issuers, err := otter.New(&otter.Options[string, knownIssuer]{MaximumSize: maxCachedIssuers})
	if err != nil {
		return nil, err
	}
	unknown, err := otter.New(&otter.Options[string, time.Time]{MaximumSize: maxCachedIssuers})
	if err != nil {
		return nil, err
	}
	keys, err := newIssuerKeys(settings.Fetch, log, store.now)
	if err != nil {
		return nil, err
	}
	return &Tokens{
		store: store, settings: settings, log: log, now: store.now,
		tokens: tokens, tenants: tenants, clients: clients, issuers: issuers, unknown: unknown, issuerKeys: keys,
	}, nil
}

// Poll reads what was revoked and which signing keys there are, and makes the
// next signing key when it is due. Run polls each second; call it once before
// serving.
func (t *Tokens) Poll(ctx context.Context) error {
	t.polling.Lock()
	defer t.polling.Unlock()

	began, before := t.now(), t.known.Load()
	var after *known
	var ring keyring
	err := t.store.controlRead(ctx, Operators, func(tx pgx.Tx) error {
		var sequence int64
		if before != nil {
			sequence = before.sequence
		}
		revoked, upTo, err := revocationsTx(ctx, tx, sequence)
		if err != nil {
			return err
		}
		after = before.next(began, revoked, upTo)
		ring, err = t.store.keyringTx(ctx, tx, t.settings.RotateEvery)
		return err
	})
	if err != nil {
		return err
	}
	t.known.Store(after)
	if _, due := ring.due(began); due {
		if ring, err = t.store.rotate(ctx, t.settings.RotateEvery); err != nil {
			return err
		}
	}
	t.ring.Store(&ring)
	return nil
}

// Run polls each second until ctx ends, and returns nil then. It logs when polls
// begin to fail and when they succeed again.
func (t *Tokens) Run(ctx context.Context) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	failing := false
	for {
		pollCtx, cancel := context.WithTimeout(ctx, pollTimeout)
		err := t.Poll(pollCtx)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !failing:
			t.log.WarnContext(ctx, "revocations can't be read", "error", err)
		case err == nil && failing:
			t.log.InfoContext(ctx, "revocations are read again")
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Ready tells why Authenticate would refuse everybody, or nil: for readyz.
func (t *Tokens) Ready() error {
	_, err := t.knowledge(t.now())
	return err
}

// knowledge is what this process knows, unless that is too old.
func (t *Tokens) knowledge(now time.Time) (*known, error) {
	k := t.known.Load()
	if k == nil || t.ring.Load() == nil || now.Sub(k.at) > maxBlind {
		return nil, errAuthUnavailable()
	}
	return k, nil
}

func errAuthUnavailable() error {
	return domain.Unavailable("auth_unavailable",
		"This server does not know at the moment which tokens were revoked. Try again.").After(pollEvery)
}
