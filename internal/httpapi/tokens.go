package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// CreateToken serves POST /v1/oauth/token.
func (s *server) CreateToken(ctx context.Context, request CreateTokenRequestObject) (CreateTokenResponseObject, error) {
	form := request.Body
	want := tenancy.GrantRequest{
		GrantType:    form.GrantType,
		ClientID:     orZero(form.ClientID),
		ClientSecret: orZero(form.ClientSecret),
		Scope:        orZero(form.Scope),
	}
	if err := withBasic(&want, callOf(ctx).authorization); err != nil {
		return nil, err
	}
	token, err := s.tokens.Grant(ctx, want)
	var refused *tenancy.GrantError
	if errors.As(err, &refused) {
		return nil, grantProblem(refused)
	}
	if err != nil {
		return nil, err
	}
	return CreateToken200JSONResponse{
		Body: Token{
			AccessToken: token.Token,
			TokenType:   token.Type,
			ExpiresIn:   int64(token.ExpiresIn),
			Scope:       token.Scope,
		},
		Headers: CreateToken200ResponseHeaders{CacheControl: noStore},
	}, nil
}

// withBasic takes the client's credentials from HTTP Basic authentication,
// where they are form-encoded first (RFC 6749, section 2.3.1). A client
// authenticates in one way at a time.
func withBasic(want *tenancy.GrantRequest, authorization []string) error {
	if len(authorization) == 0 {
		return nil
	}
	refused := grantProblem(&tenancy.GrantError{
		Code:        tenancy.GrantInvalidClient,
		Description: "The client must authenticate in one way: one Authorization header with Basic, or client_id and client_secret.",
	})
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
	return GetJwks200JSONResponse{
		Body: Jwks{Keys: encodeAll(set.Keys, func(k tenancy.JWK) Jwk {
			return Jwk{Kty: k.KeyType, Crv: k.Curve, Use: k.Use, Alg: k.Algorithm, Kid: k.KeyID, X: k.X}
		})},
		Headers: GetJwks200ResponseHeaders{CacheControl: fmt.Sprintf("public, max-age=%d", int(tenancy.JWKSMaxAge.Seconds()))},
	}, nil
}
