package holdfast

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// ErrDeviceToken is what DeviceTokens makes of a token that lets nobody in. What
// is wrong with it is for the log.
var ErrDeviceToken = errors.New("holdfast: the token is no valid device token of this tenant")

// DeviceToken is what a device's access token says.
type DeviceToken struct {
	ID      string // the token's own
	Account ID     // who approved the device
	Device  ID
	Client  ClientID
	Scopes  []string // in the tenant's own words
	Expires time.Time
}

// DeviceTokens verifies, in a tenant's application, the access tokens that the
// tenant's devices come with. It asks the service for its public keys and for
// nothing else: a device that was revoked is known by its tokens until they
// expire, after 15 minutes at most.
type DeviceTokens struct {
	keys   publishedKeys
	parser *jwt.Parser
}

// clockLeeway is how far this clock and the service's may lie apart.
const clockLeeway = 5 * time.Second

// NewDeviceTokens makes a verifier of tokens of one tenant, by its id. The issuer
// is the service's URL, as its tokens name it. It sends nothing yet. Of the
// options WithHTTPDoer has an effect.
func NewDeviceTokens(issuer string, tenant ID, options ...Option) (*DeviceTokens, error) {
	issuer = strings.TrimSuffix(issuer, "/")
	client, err := NewClientWithResponses(issuer, WithHTTPClient(refusing{newSettings(options).doer}))
	if err != nil {
		return nil, fmt.Errorf("holdfast: %w", err)
	}
	return &DeviceTokens{
		keys: publishedKeys{client: client},
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
			jwt.WithIssuer(issuer),
			jwt.WithAudience("urn:holdfast:tenant:"+tenant),
			jwt.WithExpirationRequired(),
			jwt.WithIssuedAt(),
			jwt.WithLeeway(clockLeeway),
			jwt.WithStrictDecoding(),
		),
	}, nil
}

// deviceClaims are those of RFC 9068, section 2.2, and the device.
type deviceClaims struct {
	jwt.RegisteredClaims
	ClientID string `json:"client_id"`
	Device   string `json:"device_id"`
	Scope    string `json:"scope"` // space-separated
}

// Verify gives what a token says that is signed by the service, for this tenant,
// and has not expired. Any other is ErrDeviceToken; an error without it says
// that the keys can't be had at present.
func (t *DeviceTokens) Verify(ctx context.Context, token string) (DeviceToken, error) {
	var claims deviceClaims
	var unavailable error
	_, err := t.parser.ParseWithClaims(token, &claims, func(parsed *jwt.Token) (any, error) {
		id, _ := parsed.Header["kid"].(string)
		if parsed.Header["typ"] != "at+jwt" { // RFC 9068, section 4
			return nil, errors.New("it is no access token")
		}
		var key ed25519.PublicKey
		if key, unavailable = t.keys.get(ctx, id); key == nil {
			return nil, errors.New("its key is not one of the service's")
		}
		return key, nil
	})
	switch {
	case unavailable != nil:
		return DeviceToken{}, unavailable
	case err != nil:
		return DeviceToken{}, fmt.Errorf("%w: %w", ErrDeviceToken, err)
	case claims.Subject == "" || claims.Device == "" || claims.ClientID == "":
		return DeviceToken{}, fmt.Errorf("%w: it names no account, no device or no client", ErrDeviceToken)
	}
	return DeviceToken{
		ID:      claims.ID,
		Account: claims.Subject,
		Device:  claims.Device,
		Client:  claims.ClientID,
		Scopes:  strings.Fields(claims.Scope),
		Expires: claims.ExpiresAt.Time,
	}, nil
}
