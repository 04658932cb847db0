package tenancy

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// NewIssuer asks for an issuer to be trusted.
type NewIssuer struct {
	URL            string        // https, as its tokens spell it; at most 512 characters
	JWKSURI        string        // https, at most 2,000 characters
	Audience       string        // 1 to 255 visible characters
	Scopes         []string      // at least one of TenantScopes
	MaxLifetime    time.Duration // whole seconds, 1 minute to 1 day; an hour if 0
	IdempotencyKey string        // at most 255 characters; empty for none
}

const (
	maxIssuerURL       = 512  // characters
	maxJWKSURI         = 2000 // characters
	maxIssuerAudience  = 255  // characters
	defaultMaxLifetime = time.Hour
	maxIssuers         = 16 // that a tenant trusts at a time
)

func (want NewIssuer) checked() (NewIssuer, error) {
	if !isIssuerURL(want.URL, maxIssuerURL) || strings.Contains(want.URL, "?") {
		return want, domain.Invalid("issuer_invalid",
			"An issuer is an https URL without a user, a query or a fragment, of at most 512 characters.").At("/issuer")
	}
	if !isIssuerURL(want.JWKSURI, maxJWKSURI) {
		return want, domain.Invalid("jwks_uri_invalid",
			"Where the keys are is an https URL without a user or a fragment, of at most 2,000 characters.").At("/jwks_uri")
	}
	if want.Audience == "" || len(want.Audience) > maxIssuerAudience || !isVisibleASCII(want.Audience) {
		return want, domain.Invalid("audience_invalid", "An audience has 1 to 255 visible ASCII characters.").At("/audience")
	}
	want.MaxLifetime = cmp.Or(want.MaxLifetime, defaultMaxLifetime)
	if want.MaxLifetime < time.Minute || want.MaxLifetime > 24*time.Hour || want.MaxLifetime%time.Second != 0 {
		return want, domain.Invalid("max_lifetime_invalid", "A token lives for 60 to 86,400 seconds at most.").At("/max_lifetime_seconds")
	}
	scopes, err := parseScopes(want.Scopes, TenantScopes())
	want.Scopes = scopes
	return want, err
}

// isIssuerURL tells an absolute https URL that names a host and nobody's password.
func isIssuerURL(text string, most int) bool {
	if text == "" || len(text) > most || !isVisibleASCII(text) || strings.Contains(text, "#") {
		return false
	}
	parsed, err := url.Parse(text)
	return err == nil && parsed.Scheme == "https" && parsed.Hostname() != "" && parsed.User == nil
}

// CreateIssuer has a tenant trust an issuer. Nothing is fetched from it yet.
//
// Errors: forbidden; invalid; not found tenant_not_found; conflict issuer_taken,
// issuers_too_many, tenant_provisioning.
func (s *Store) CreateIssuer(ctx context.Context, caller Scope, tenant domain.TenantID, want NewIssuer) (i Issuer, replayed bool, err error) {
	if err := demand(caller, OperatorTenants); err != nil {
		return Issuer{}, false, err
	}
	if want, err = want.checked(); err != nil {
		return Issuer{}, false, err
	}
	if err := s.demandTenant(ctx, tenant); err != nil {
		return Issuer{}, false, err
	}
	var id IssuerID
	if err := identify(ctx, s, caller, &id, "issuer", tenant, want.IdempotencyKey); err != nil {
		return Issuer{}, false, err
	}
	err = s.controlTx(ctx, tenant, func(tx pgx.Tx) error {
		i, replayed, err = s.createIssuerTx(ctx, tx, tenant, id, want)
		return err
	})
	if err != nil {
		return Issuer{}, false, err
	}
	return i, replayed, nil
}

// sqlCreateIssuer does nothing when the id or the issuer is taken; which of them, a
// second read tells.
const sqlCreateIssuer = `
INSERT INTO issuers (tenant_id, issuer_id, issuer, jwks_uri, audience, scopes, max_lifetime, fingerprint, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT DO NOTHING
RETURNING ` + issuerColumns

const sqlIssuerFingerprint = `SELECT fingerprint = $3 FROM issuers WHERE tenant_id = $1 AND issuer_id = $2`

// sqlLockIssuers has the issuers of one tenant made one after the other, so that they
// can be counted.
const sqlLockIssuers = `SELECT pg_advisory_xact_lock(hashtextextended('holdfast/issuers/' || $1::text, 0))`

const sqlCountIssuers = `SELECT count(*) FROM issuers WHERE tenant_id = $1 AND disabled_at IS NULL`

func (s *Store) createIssuerTx(ctx context.Context, tx pgx.Tx, tenant domain.TenantID, id IssuerID, want NewIssuer) (i Issuer, replayed bool, err error) {
	if _, err := tx.Exec(ctx, sqlLockIssuers, tenant); err != nil {
		return Issuer{}, false, err
	}
	digest := fingerprint("issuer", want.URL, want.JWKSURI, want.Audience, strings.Join(want.Scopes, " "), want.MaxLifetime.String())
	rows, _ := tx.Query(ctx, sqlCreateIssuer, tenant, id, want.URL, want.JWKSURI, want.Audience, want.Scopes, want.MaxLifetime, digest, s.now())
	i, err = pgx.CollectExactlyOneRow(rows, scanIssuer)
	if err == nil {
		return i, false, demandFewIssuersTx(ctx, tx, tenant)
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return Issuer{}, false, err
	}
	var same bool
	err = tx.QueryRow(ctx, sqlIssuerFingerprint, tenant, id, digest).Scan(&same)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		// It doesn't say whose: another tenant's row isn't even seen here.
		return Issuer{}, false, domain.Conflict("issuer_taken", "This issuer is trusted already, and one tenant alone can trust it.").At("/issuer")
	case err != nil:
		return Issuer{}, false, err
	case !same:
		return Issuer{}, false, errKeyReused()
	}
	i, err = issuerTx(ctx, tx, tenant, id)
	return i, true, err
}

// demandFewIssuersTx counts with the issuer that was just made.
func demandFewIssuersTx(ctx context.Context, tx pgx.Tx, tenant domain.TenantID) error {
	var trusted int
	if err := tx.QueryRow(ctx, sqlCountIssuers, tenant).Scan(&trusted); err != nil || trusted <= maxIssuers {
		return err
	}
	return domain.Conflict("issuers_too_many", "A tenant trusts 16 issuers at a time at most. Disable one of them first.")
}
