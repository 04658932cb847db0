package httpapi

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// AuthorizeDevice serves POST /v1/oauth/device_authorization (RFC 8628, section
// 3.1).
func (s *server) AuthorizeDevice(ctx context.Context, request AuthorizeDeviceRequestObject) (AuthorizeDeviceResponseObject, error) {
	client, err := s.publicClient(ctx, request.Body.ClientID, "")
	if err != nil {
		return nil, err
	}
	scopes, err := scopeTokens(request.Body.Scope)
	if err != nil {
		return nil, err
	}
	created, err := s.directory.AuthorizeDevice(ctx, client, identity.AuthorizeDevice{Scopes: scopes, Label: request.Body.Label})
	if err != nil {
		return nil, err
	}
	code := created.UserCode.String()
	return AuthorizeDevice200JSONResponse{
		Body: DeviceAuthorization{
			DeviceCode:              created.DeviceCode,
			UserCode:                code,
			VerificationURI:         client.VerificationURI,
			VerificationURIComplete: withUserCode(client.VerificationURI, code),
			ExpiresIn:               int64(created.ExpiresAt.Sub(created.CreatedAt).Round(time.Second) / time.Second),
			Interval:                int64(identity.PollInterval / time.Second),
		},
		Headers: AuthorizeDevice200ResponseHeaders{CacheControl: noStore},
	}, nil
}

// RevokeToken serves POST /v1/oauth/revoke (RFC 7009).
func (s *server) RevokeToken(ctx context.Context, request RevokeTokenRequestObject) (RevokeTokenResponseObject, error) {
	client, err := s.publicClient(ctx, request.Body.ClientID, "")
	if err != nil {
		return nil, err
	}
	// A JSON Web Token has dots, and a refresh token none.
	if strings.Contains(request.Body.Token, ".") {
		return nil, &tenancy.GrantError{
			Code:        tenancy.GrantUnsupportedTokenType,
			Description: "Only a refresh token can be revoked. An access token lasts until its 15 minutes are over.",
		}
	}
	if err := s.directory.RevokeRefreshToken(ctx, client, request.Body.Token); err != nil {
		return nil, err
	}
	return RevokeToken200Response{}, nil
}

// publicClient gives the public client that calls. It shows its id in the form
// and has nothing else to show. One that tries to is refused before anything
// happens in its name: golang.org/x/oauth2, left to find out how a client
// authenticates, sends each request by Basic first and in the form then, and
// that must not count as two polls, nor as two uses of a refresh token.
func (s *server) publicClient(ctx context.Context, id, secret string) (tenancy.Client, error) {
	if len(callOf(ctx).authorization) > 0 || secret != "" {
		return tenancy.Client{}, &tenancy.GrantError{
			Code:        tenancy.GrantInvalidClient,
			Description: "A public client has no secret. It sends its client_id in the form, and no Authorization header.",
		}
	}
	if id == "" {
		return tenancy.Client{}, missing("client_id")
	}
	client, err := s.tokens.PublicClient(ctx, id)
	if err != nil {
		return tenancy.Client{}, err
	}
	callOf(ctx).client = client
	nameTenant(ctx, client.Tenant)
	return client, s.paceTenant(ctx, client.Tenant)
}

// scopeTokens splits a scope parameter (RFC 6749, section 3.3): nil when it is
// absent.
func scopeTokens(parameter *string) ([]string, error) {
	if parameter == nil {
		return nil, nil
	}
	scopes := strings.Fields(*parameter)
	if len(scopes) == 0 {
		return nil, &tenancy.GrantError{Code: tenancy.GrantInvalidScope, Description: "The parameter scope names none."}
	}
	return scopes, nil
}

// withUserCode is the verification URI with the code in its query (RFC 8628,
// section 3.3.1). Neither needs escaping: the one is a URI already, the other
// has letters and a hyphen.
func withUserCode(uri, code string) string {
	separator := "?"
	if u, err := url.Parse(uri); err == nil && u.RawQuery != "" {
		separator = "&"
	}
	return strings.TrimSuffix(uri, "?") + separator + "user_code=" + code
}
