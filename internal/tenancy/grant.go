package tenancy

import (
	"context"
	"crypto/subtle"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// The grant types of the token endpoint. Grant serves the first; the others are
// the identity domain's, and DeviceToken signs what they earn.
const (
	GrantTypeClientCredentials = "client_credentials"                           // RFC 6749, section 4.4
	GrantTypeDeviceCode        = "urn:ietf:params:oauth:grant-type:device_code" // RFC 8628, section 3.4
	GrantTypeRefreshToken      = "refresh_token"                                // RFC 6749, section 6
)

// GrantRequest is a request for an access token at the token endpoint. The
// client is an API key: its id is the text up to the second underscore,
// hf_<id>, and its secret is the rest. The whole text is taken as the secret
// too, since that is what people have at hand.
type GrantRequest struct {
	GrantType    string // GrantTypeClientCredentials
	ClientID     string
	ClientSecret string
	Scope        string // space-separated; empty for all that the principal has
	// Admit may refuse a key's tenant one more token for now; nil refuses nobody.
	Admit func(domain.TenantID) error
}

// AccessToken is the answer (RFC 6749, section 5.1).
type AccessToken struct {
	Token     string
	Type      string // "Bearer"
	ExpiresIn int    // seconds
	Scope     string // space-separated
}

// Grant sells a token to whoever shows a key (RFC 6749, section 4.4). An unknown
// key and a wrong secret take the same way to the same answer.
//
// Errors: *GrantError; unavailable.
func (t *Tokens) Grant(ctx context.Context, request GrantRequest) (AccessToken, error) {
	switch request.GrantType {
	case GrantTypeClientCredentials:
	case "":
		return AccessToken{}, &GrantError{GrantInvalidRequest, "The parameter grant_type is missing."}
	default:
		return AccessToken{}, &GrantError{GrantUnsupportedGrantType, "The grant_type must be " + GrantTypeClientCredentials + " for an API key; " +
			GrantTypeDeviceCode + " or " + GrantTypeRefreshToken + " for a public client."}
	}
	// The time is taken before the key is looked at: a process that is paused in
	// between sells a token that has grown old meanwhile, and not one that could
	// outlive what others remember of the key's revocation.
	now := t.now()
	ring := t.ring.Load()
	if ring == nil {
		return AccessToken{}, errAuthUnavailable()
	}
	key := ring.signer(now)
	if key == nil {
		return AccessToken{}, errAuthUnavailable()
	}
	if err := t.refusePublicClient(ctx, request.ClientID); err != nil {
		return AccessToken{}, err
	}
	c, err := t.keyHolder(ctx, request, now)
	if err != nil {
		return AccessToken{}, err
	}
	if err := admitGrant(c.tenantState); err != nil {
		return AccessToken{}, err
	}
	if request.Admit != nil {
		if err := request.Admit(c.scope.Tenant); err != nil {
			return AccessToken{}, err
		}
	}
	if c.scope.Scopes, err = narrow(c.scope.Scopes, request.Scope); err != nil {
		return AccessToken{}, err
	}
	expires := now.Add(tokenLifetime)
	if !c.expires.IsZero() && c.expires.Before(expires) {
		expires = c.expires
	}
	token, err := sign(key, t.settings.Issuer, holder{c.scope, expires}, now)
	if err != nil {
		return AccessToken{}, err
	}
	return AccessToken{
		Token:     token,
		Type:      "Bearer",
		ExpiresIn: int(expires.Sub(now) / time.Second),
		Scope:     strings.Join(c.scope.Scopes, " "),
	}, nil
}

// refusePublicClient tells a public client that this grant isn't for those who
// have no secret (RFC 6749, section 4.4).
func (t *Tokens) refusePublicClient(ctx context.Context, clientID string) error {
	if _, public := ParseClientIDText(clientID); !public {
		return nil
	}
	if _, err := t.PublicClient(ctx, clientID); err != nil {
		return err
	}
	return &GrantError{GrantUnauthorizedClient, "A public client has no credentials: its grant_type is " + GrantTypeDeviceCode + " or " + GrantTypeRefreshToken + "."}
}

// admitGrant refuses a tenant that is suspended or is being deleted. A purged one's
// keys are gone.
func admitGrant(state string) error {
	switch state {
	case TenantSuspended:
		return &GrantError{GrantTenantSuspended, "The tenant is suspended. Ask its operator to resume it."}
	case TenantDeleting, TenantPurging, TenantPurged:
		return &GrantError{GrantTenantDeleting, "The tenant is being deleted. Its operator can call that off until its grace is over."}
	default:
		return nil
	}
}

// keyHolder is a key that was shown with its secret.
type keyHolder struct {
	scope       Scope
	tenantState string    // "" for an operator
	expires     time.Time // zero for never
}

const sqlTenantOfKey = `SELECT tenant_of_key($1)`

const sqlKeyHolder = `
SELECT k.secret_hash, k.expires_at, k.revoked_at, p.principal_id, p.name, p.scopes, p.disabled_at, COALESCE(t.state, '')
  FROM api_keys k
  JOIN principals p ON p.tenant_id = k.tenant_id AND p.principal_id = k.principal_id
  LEFT JOIN tenants t ON t.tenant_id = k.tenant_id
 WHERE k.tenant_id = $1 AND k.key_id = $2`

// keyHolder authenticates a key (RFC 6749, section 2.3.1).
func (t *Tokens) keyHolder(ctx context.Context, request GrantRequest, now time.Time) (keyHolder, error) {
	refused := &GrantError{GrantInvalidClient, "The client is not known, or its secret is wrong, revoked or expired."}
	id, ok := parseClientID(request.ClientID)
	if !ok {
		return keyHolder{}, refused
	}
	tenant, err := t.tenantOfKey(ctx, id)
	if err != nil {
		return keyHolder{}, err
	}
	c := keyHolder{scope: Scope{Tenant: tenant, Key: id}}
	var revoked, disabled time.Time
	// Of an unknown key no row is found, and no secret has this hash.
	hash := make([]byte, 32)
	err = t.store.controlRead(ctx, tenant, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, sqlKeyHolder, tenant, id).Scan(&hash, (*zeronull.Timestamptz)(&c.expires), (*zeronull.Timestamptz)(&revoked),
			&c.scope.Principal, &c.scope.Name, &c.scope.Scopes, (*zeronull.Timestamptz)(&disabled), &c.tenantState)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil {
		return keyHolder{}, err
	}
	secret := strings.TrimPrefix(request.ClientSecret, request.ClientID+"_")
	if subtle.ConstantTimeCompare(hash, hashSecret(secret)) != 1 {
		return keyHolder{}, refused
	}
	if !revoked.IsZero() || !disabled.IsZero() || !c.expires.IsZero() && !now.Before(c.expires) {
		return keyHolder{}, refused
	}
	return c, nil
}

// tenantOfKey tells whose key it is; of an unknown one it says the operators',
// who don't have it either.
func (t *Tokens) tenantOfKey(ctx context.Context, id domain.KeyID) (tenant domain.TenantID, err error) {
	var found *domain.TenantID
	err = t.store.controlRead(ctx, Operators, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, sqlTenantOfKey, id).Scan(&found)
	})
	if err != nil || found == nil {
		return Operators, err
	}
	return *found, nil
}

// narrow gives those of the granted scopes that are wanted: all of them when
// nothing is said.
func narrow(granted []string, wanted string) ([]string, error) {
	if wanted == "" {
		return granted, nil
	}
	scopes := slices.Compact(slices.Sorted(strings.FieldsSeq(wanted)))
	for _, scope := range scopes {
		if !slices.Contains(granted, scope) {
			return nil, &GrantError{GrantInvalidScope, "The client was not granted one of the scopes."}
		}
	}
	if len(scopes) == 0 {
		return nil, &GrantError{GrantInvalidScope, "The parameter scope names none."}
	}
	return scopes, nil
}
