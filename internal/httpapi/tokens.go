package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// CreateToken serves POST /v1/oauth/token.
func (s *server) CreateToken(ctx context.Context, request CreateTokenRequestObject) (CreateTokenResponseObject, error) {
	token, err := s.grant(ctx, request.Body)
	if err != nil {
		return nil, err
	}
	return CreateToken200JSONResponse{Body: token, Headers: CreateToken200ResponseHeaders{CacheControl: noStore}}, nil
}

func (s *server) grant(ctx context.Context, form *TokenRequest) (Token, error) {
	switch form.GrantType {
	case tenancy.GrantTypeDeviceCode:
		return s.redeem(ctx, form)
	case tenancy.GrantTypeRefreshToken:
		return s.refresh(ctx, form)
	default: // tenancy refuses the others
		return s.buy(ctx, form)
	}
}

// buy sells a token for this API to an API key. A request without any
// authentication of its client is invalid_client by the RFC's own words (RFC
// 6749, section 5.2); a secret alone lacks a parameter (section 2.3.1).
func (s *server) buy(ctx context.Context, form *TokenRequest) (Token, error) {
	want := tenancy.GrantRequest{
		GrantType:    form.GrantType,
		ClientID:     orZero(form.ClientID),
		ClientSecret: orZero(form.ClientSecret),
		Scope:        orZero(form.Scope),
		Admit:        func(tenant domain.TenantID) error { return s.paceTenant(ctx, tenant) },
	}
	if err := withBasic(&want, callOf(ctx).authorization); err != nil {
		return Token{}, err
	}
	if want.ClientID == "" && want.ClientSecret != "" {
		return Token{}, missing("client_id")
	}
	token, err := s.tokens.Grant(ctx, want)
	if err != nil {
		return Token{}, err
	}
	return encodeToken(token), nil
}

// redeem is a device's poll. The scope was settled when its code was made.
func (s *server) redeem(ctx context.Context, form *TokenRequest) (Token, error) {
	client, err := s.publicClient(ctx, orZero(form.ClientID), orZero(form.ClientSecret))
	if err != nil {
		return Token{}, err
	}
	if form.DeviceCode == nil {
		return Token{}, missing("device_code")
	}
	earned, err := s.directory.PollDevice(ctx, client, *form.DeviceCode)
	if err != nil {
		return Token{}, err
	}
	return s.deviceToken(client, earned)
}

// refresh spends a device's refresh token.
func (s *server) refresh(ctx context.Context, form *TokenRequest) (Token, error) {
	client, err := s.publicClient(ctx, orZero(form.ClientID), orZero(form.ClientSecret))
	if err != nil {
		return Token{}, err
	}
	if form.RefreshToken == nil {
		return Token{}, missing("refresh_token")
	}
	scopes, err := scopeTokens(form.Scope)
	if err != nil {
		return Token{}, err
	}
	earned, err := s.directory.RefreshDevice(ctx, client, *form.RefreshToken, scopes)
	if err != nil {
		return Token{}, err
	}
	return s.deviceToken(client, earned)
}

func (s *server) deviceToken(client tenancy.Client, earned identity.Redeemed) (Token, error) {
	token, err := s.tokens.DeviceToken(tenancy.DeviceGrant{Client: client, Account: earned.Account, Device: earned.Device, Scopes: earned.Scopes})
	if err != nil {
		return Token{}, err
	}
	encoded := encodeToken(token)
	encoded.RefreshToken = earned.RefreshToken
	return encoded, nil
}

func encodeToken(t tenancy.AccessToken) Token {
	return Token{AccessToken: t.Token, TokenType: t.Type, ExpiresIn: int64(t.ExpiresIn), Scope: t.Scope}
}

func missing(field string) error {
	return &tenancy.GrantError{Code: tenancy.GrantInvalidRequest, Description: "The parameter " + field + " is missing."}
}

// withBasic takes the client's credentials from HTTP Basic authentication,
// where they are form-encoded first (RFC 6749, section 2.3.1). A client
// authenticates in one way at a time.
func withBasic(want *tenancy.GrantRequest, authorization []string) error {
	if len(authorization) == 0 {
		return nil
	}
	refused := &tenancy.GrantError{
		Code:        tenancy.GrantInvalidClient,
		Description: "The client must authenticate in one way: one Authorization header with Basic, or client_id and client_secret.",
	}
	id, secret, ok := (&http.Request{Header: http.Header{"Authorization": authorization}}).BasicAuth()
	if !ok || len(authorization) > 1 || want.ClientSecret != "" {
		return refused
	}
	var err, err2 error
	id, err = url.QueryUnescape(id)
	secret, err2 = url.QueryUnescape(secret)
	if err != nil || err2 != nil || want.ClientID != "" && want.ClientID != id {
		return refused
	}
	want.ClientID, want.ClientSecret = id, secret
	return nil
}

// GetJwks serves GET /.well-known/jwks.json.
func (s *server) GetJwks(context.Context, GetJwksRequestObject) (GetJwksResponseObject, error) {
	set, err := s.tokens.JWKS()
	if err != nil {
		return nil, err
	}
	return GetJwks200JSONResponse{Body: encodeKeys(set), Headers: GetJwks200ResponseHeaders{CacheControl: keysCached()}}, nil
}

func encodeKeys(set tenancy.JWKS) Jwks {
	return Jwks{Keys: encodeAll(set.Keys, func(k tenancy.JWK) Jwk {
		return Jwk{Kty: k.KeyType, Crv: k.Curve, Use: k.Use, Alg: k.Algorithm, Kid: k.KeyID, X: k.X}
	})}
}

// keysCached tells for how long a key set may be cached.
func keysCached() string {
	return fmt.Sprintf("public, max-age=%d", int(tenancy.JWKSMaxAge.Seconds()))
}
