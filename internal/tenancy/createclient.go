package tenancy

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// NewClient asks for a public client.
type NewClient struct {
	Name string // as a principal's: [a-z0-9][a-z0-9._-]{0,127}
	// Scopes are the tenant's own words, scope-tokens of RFC 6749, section 3.3:
	// at most 64, together at most 2,000 characters, so that a token with all of
	// them fits into a header. There may be none.
	Scopes []string
	// VerificationURI is where a user enters the code (RFC 8628, section 3.2):
	// https, or http on the user's own machine; at most 2,000 characters.
	VerificationURI string
	IdempotencyKey  string // at most 255 characters; empty for none
}

const (
	maxClientScopes     = 64
	maxClientScopesText = 2000 // characters, with a space between each two
	maxVerificationURI  = 2000 // characters
)

func (want NewClient) checked() (NewClient, error) {
	if !principalName.MatchString(want.Name) {
		return want, domain.Invalid("client_name_invalid",
			"A name has 1 to 128 characters of a-z, 0-9, '.', '_' and '-', and begins with a letter or a digit.").At("/name")
	}
	if !isVerificationURI(want.VerificationURI) {
		return want, domain.Invalid("verification_uri_invalid",
			"A verification URI is absolute, https (or http on localhost), without a user or a fragment, and has at most 2,000 characters.").
			At("/verification_uri")
	}
	if slices.ContainsFunc(want.Scopes, func(scope string) bool { return !isScopeToken(scope) }) {
		return want, domain.Invalid("client_scope_invalid",
			"A scope is one or more printable ASCII characters, none of them a space, a quote or a backslash.").At("/scopes")
	}
	want.Scopes = slices.Compact(slices.Sorted(slices.Values(want.Scopes)))
	if len(want.Scopes) > maxClientScopes || len(strings.Join(want.Scopes, " ")) > maxClientScopesText {
		return want, domain.Invalid("client_scopes_too_many",
			"A client has at most 64 scopes, together of at most 2,000 characters.").At("/scopes")
	}
	return want, nil
}

// isScopeToken is the scope-token of RFC 6749, section 3.3: %x21 / %x23-5B /
// %x5D-7E, once or more.
func isScopeToken(text string) bool {
	return text != "" && isVisibleASCII(text) && !strings.ContainsAny(text, `"\`)
}

func isVisibleASCII(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// isVerificationURI tells a URI that may be shown to users, and that a page may
// be told to go to with a code added to its query.
func isVerificationURI(text string) bool {
	if len(text) > maxVerificationURI || !isVisibleASCII(text) || strings.Contains(text, "#") {
		return false
	}
	uri, err := url.Parse(text)
	if err != nil || uri.Hostname() == "" || uri.User != nil {
		return false
	}
	return uri.Scheme == "https" || uri.Scheme == "http" && isLoopback(uri.Hostname())
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback() || strings.EqualFold(host, "localhost")
}

// CreateClient makes a public client of a tenant.
//
// Errors: forbidden; invalid; not found tenant_not_found; conflict
// client_name_taken, tenant_provisioning.
func (s *Store) CreateClient(ctx context.Context, caller Scope, tenant domain.TenantID, want NewClient) (c Client, replayed bool, err error) {
	if err := demand(caller, OperatorTenants); err != nil {
		return Client{}, false, err
	}
	if want, err = want.checked(); err != nil {
		return Client{}, false, err
	}
	if err := s.demandTenant(ctx, tenant); err != nil {
		return Client{}, false, err
	}
	var id domain.ClientID
	if err := identify(ctx, s, caller, &id, "client", tenant, want.IdempotencyKey); err != nil {
		return Client{}, false, err
	}
	err = s.controlTx(ctx, tenant, func(tx pgx.Tx) error {
		c, replayed, err = s.createClientTx(ctx, tx, tenant, id, want)
		return err
	})
	if err != nil {
		return Client{}, false, err
	}
	return c, replayed, nil
}

// sqlCreateClient does nothing when the id or the name is taken; which of them,
// a second read tells. An argument without scopes is NULL.
const sqlCreateClient = `
INSERT INTO clients (tenant_id, client_id, name, scopes, verification_uri, fingerprint, created_at)
VALUES ($1, $2, $3, COALESCE($4::text[], '{}'), $5, $6, $7)
ON CONFLICT DO NOTHING
RETURNING ` + clientColumns

const sqlClientFingerprint = `SELECT fingerprint = $3 FROM clients WHERE tenant_id = $1 AND client_id = $2`

func (s *Store) createClientTx(ctx context.Context, tx pgx.Tx, tenant domain.TenantID, id domain.ClientID, want NewClient) (c Client, replayed bool, err error) {
	digest := fingerprint("client", want.Name, strings.Join(want.Scopes, " "), want.VerificationURI)
	rows, _ := tx.Query(ctx, sqlCreateClient, tenant, id, want.Name, want.Scopes, want.VerificationURI, digest, s.now())
	c, err = pgx.CollectExactlyOneRow(rows, scanClient)
	if !errors.Is(err, pgx.ErrNoRows) {
		return c, false, err
	}
	var same bool
	err = tx.QueryRow(ctx, sqlClientFingerprint, tenant, id, digest).Scan(&same)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return Client{}, false, domain.Conflict("client_name_taken", "Another client here has that name.").At("/name")
	case err != nil:
		return Client{}, false, err
	case !same:
		return Client{}, false, errKeyReused()
	}
	c, err = clientTx(ctx, tx, tenant, id)
	return c, true, err
}
