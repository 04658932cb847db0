package tenancy

import (
	"errors"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// DeviceGrant is what a redeemed device code or a refresh token has earned.
type DeviceGrant struct {
	Client  Client // as PublicClient gave it, before the device was looked at
	Account domain.AccountID
	Device  domain.DeviceID
	Scopes  []string // the tenant's words; those that the device was approved for, or fewer
}

// deviceClaims are a device's token's (RFC 9068, section 2.2). They are for the
// tenant's application, which verifies them by the published key set.
type deviceClaims struct {
	jwt.RegisteredClaims        // the subject is the account
	ClientID             string `json:"client_id"` // hfc_<id>
	Tenant               string `json:"tid"`
	Device               string `json:"device_id"`
	Scope                string `json:"scope,omitempty"` // space-separated
}

// TenantAudience is the aud of tokens for the tenant's application. It is never
// that of Holdfast's own API, which therefore refuses them.
func TenantAudience(tenant domain.TenantID) string { return "urn:holdfast:tenant:" + tenant.String() }

// DeviceToken makes an access token for the tenant's application. Nobody can
// revoke it there, so it lives 15 minutes from when its client was verified:
// that was before the device and its account were looked at, so that a process
// which is paused in between sells no token that outlives a revocation by more.
//
// Errors: unavailable auth_unavailable, also when those 15 minutes are over.
func (t *Tokens) DeviceToken(grant DeviceGrant) (AccessToken, error) {
	if grant.Client.VerifiedAt.IsZero() || grant.Account.IsZero() || grant.Device.IsZero() {
		return AccessToken{}, errors.New("a device token takes a verified client, an account and a device")
	}
	now, from := t.now(), grant.Client.VerifiedAt
	expires := from.Add(tokenLifetime)
	left := int(expires.Sub(now) / time.Second)
	ring := t.ring.Load()
	if ring == nil || left <= 0 {
		return AccessToken{}, errAuthUnavailable()
	}
	key := ring.signer(now)
	if key == nil {
		return AccessToken{}, errAuthUnavailable()
	}
	scope := strings.Join(grant.Scopes, " ")
	var jti domain.Token
	fresh(&jti, now)
	token, err := key.sign(deviceClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer:    t.settings.Issuer,
			Subject:   grant.Account.String(),
			Audience:  jwt.ClaimStrings{TenantAudience(grant.Client.Tenant)},
			ExpiresAt: jwt.NewNumericDate(expires),
			IssuedAt:  jwt.NewNumericDate(from),
			ID:        jti.String(),
		},
		ClientID: ClientIDText(grant.Client.ID),
		Tenant:   grant.Client.Tenant.String(),
		Device:   grant.Device.String(),
		Scope:    scope,
	})
	if err != nil {
		return AccessToken{}, err
	}
	return AccessToken{Token: token, Type: "Bearer", ExpiresIn: left, Scope: scope}, nil
}
