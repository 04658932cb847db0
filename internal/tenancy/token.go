package tenancy

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

const (
	audience      = "holdfast"
	tokenType     = "at+jwt" // RFC 9068, section 2.1
	tokenLifetime = 15 * time.Minute
	// tokenLeeway is how far the processes' clocks may lie apart.
	tokenLeeway = 5 * time.Second
	maxToken    = 4096 // bytes
)

// claims are an access token's (RFC 9068, section 2.2).
type claims struct {
	jwt.RegisteredClaims
	ClientID string `json:"client_id"`     // the API key that bought it: hf_<id>
	Tenant   string `json:"tid,omitempty"` // absent for an operator
	Name     string `json:"name"`          // the principal's
	Scope    string `json:"scope"`         // space-separated
}

// holder is what a verified token says, for as long as it lasts.
type holder struct {
	scope   Scope // without the tenant's settings, and without this expiry
	expires time.Time
}

// sign makes the token of a holder.
func sign(key *signingKey, issuer string, h holder, now time.Time) (string, error) {
	var jti domain.Token
	fresh(&jti, now)
	c := claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer:    issuer,
			Subject:   h.scope.Principal.String(),
			Audience:  jwt.ClaimStrings{audience},
			ExpiresAt: jwt.NewNumericDate(h.expires),
			IssuedAt:  jwt.NewNumericDate(now),
			ID:        jti.String(),
		},
		ClientID: clientID(h.scope.Key),
		Name:     h.scope.Name,
		Scope:    strings.Join(h.scope.Scopes, " "),
	}
	if !h.scope.IsOperator() {
		c.Tenant = h.scope.Tenant.String()
	}
	return key.sign(c)
}

// sign makes the token of the claims (RFC 9068, section 2.1).
func (k *signingKey) sign(c jwt.Claims) (string, error) {
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, c)
	token.Header["typ"] = tokenType
	token.Header["kid"] = k.id
	return token.SignedString(k.private)
}

var errKeyUnknown = errors.New("the key is not known")

// verify judges a token by itself: who signed it, for whom, and until when.
//
// Errors: unauthenticated token_invalid, token_expired.
func (r keyring) verify(token, issuer string, now time.Time) (holder, error) {
	if len(token) > maxToken {
		return holder{}, errTokenInvalid(errors.New("too long"))
	}
	var c claims
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
		jwt.WithIssuer(issuer),
		jwt.WithAudience(audience),
		jwt.WithExpirationRequired(),
		jwt.WithIssuedAt(),
		jwt.WithLeeway(tokenLeeway),
		jwt.WithStrictDecoding(),
		jwt.WithTimeFunc(func() time.Time { return now }),
	)
	_, err := parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		if t.Header["typ"] != tokenType {
			return nil, errors.New("not an access token")
		}
		id, _ := t.Header["kid"].(string)
		if key := r.verifier(id, now); key != nil {
			return key.public, nil
		}
		return nil, errKeyUnknown
	})
	if onlyExpired(err) {
		return holder{}, errTokenExpired()
	}
	if err != nil {
		return holder{}, errTokenInvalid(err)
	}
	return c.holder()
}

// onlyExpired tells a token that was good until it expired. The signature is
// checked before the claims, so nobody learns this of a token that they made up.
func onlyExpired(err error) bool {
	if !errors.Is(err, jwt.ErrTokenExpired) {
		return false
	}
	for _, other := range []error{
		jwt.ErrTokenInvalidIssuer, jwt.ErrTokenInvalidAudience, jwt.ErrTokenUsedBeforeIssued,
		jwt.ErrTokenNotValidYet, jwt.ErrTokenRequiredClaimMissing,
	} {
		if errors.Is(err, other) {
			return false
		}
	}
	return true
}

func (c *claims) holder() (holder, error) {
	principal, err := readID(c.Subject, domain.PrincipalID{})
	if err != nil {
		return holder{}, errTokenInvalid(err)
	}
	key, ok := parseClientID(c.ClientID)
	if !ok {
		return holder{}, errTokenInvalid(errors.New("no client id"))
	}
	tenant := Operators
	if c.Tenant != "" {
		tenant, err = readID(c.Tenant, tenant)
		if err != nil || tenant == Operators {
			return holder{}, errTokenInvalid(errors.New("not a tenant's id"))
		}
	}
	scopes := slices.Compact(slices.Sorted(strings.FieldsSeq(c.Scope)))
	return holder{
		scope:   Scope{Tenant: tenant, Principal: principal, Key: key, Name: c.Name, Scopes: scopes},
		expires: c.ExpiresAt.Time,
	}, nil
}

// readID parses an id of the kind that zero is of.
func readID[K any](text string, zero domain.ID[K]) (domain.ID[K], error) {
	err := zero.UnmarshalText([]byte(text))
	return zero, err
}

func errTokenExpired() error {
	return domain.Unauthenticated("token_expired", "The token has expired. Get another one.")
}

func errTokenInvalid(cause error) error {
	return domain.Unauthenticated("token_invalid", "The token is not one that this server accepts.").Because(cause)
}
