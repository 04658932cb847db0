package httpapi

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// metadataMaxAge is how long clients may keep the metadata: nothing in it
// changes while a process lives.
const metadataMaxAge = time.Hour

// The ways in which a client authenticates (RFC 8414, section 2): an API key by
// Basic or in the form, and a public client not at all.
const (
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
	authNone  = "none"
)

// GetAuthorizationServer serves GET /.well-known/oauth-authorization-server.
func (s *server) GetAuthorizationServer(context.Context, GetAuthorizationServerRequestObject) (GetAuthorizationServerResponseObject, error) {
	return GetAuthorizationServer200JSONResponse{
		Body: AuthorizationServer{
			Issuer:                                 s.issuer,
			TokenEndpoint:                          s.issuer + "/v1/oauth/token",
			DeviceAuthorizationEndpoint:            s.issuer + "/v1/oauth/device_authorization",
			RevocationEndpoint:                     s.issuer + "/v1/oauth/revoke",
			JwksURI:                                s.issuer + "/.well-known/jwks.json",
			ResponseTypesSupported:                 []string{},
			GrantTypesSupported:                    []string{tenancy.GrantTypeClientCredentials, tenancy.GrantTypeDeviceCode, tenancy.GrantTypeRefreshToken},
			TokenEndpointAuthMethodsSupported:      []string{authBasic, authPost, authNone},
			RevocationEndpointAuthMethodsSupported: []string{authNone},
		},
		Headers: GetAuthorizationServer200ResponseHeaders{CacheControl: fmt.Sprintf("public, max-age=%d", int(metadataMaxAge.Seconds()))},
	}, nil
}
