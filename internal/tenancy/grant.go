package tenancy

import "context"

// GrantRequest is a request for an access token at the token endpoint.
type GrantRequest struct {
	GrantType    string // "client_credentials"
	ClientID     string // hf_<id>
	ClientSecret string // the key's secret part, or its whole text
	Scope        string // space-separated; empty for all that the principal has
}

// AccessToken is the answer (RFC 6749, section 5.1).
type AccessToken struct {
	Token     string
	Type      string // "Bearer"
	ExpiresIn int    // seconds
	Scope     string // space-separated
}

// The codes of a GrantError: those of RFC 6749, section 5.2, and one of ours.
const (
	GrantInvalidRequest       = "invalid_request"
	GrantInvalidClient        = "invalid_client" // 401, with WWW-Authenticate: Basic
	GrantInvalidScope         = "invalid_scope"
	GrantUnsupportedGrantType = "unsupported_grant_type"
	GrantTenantSuspended      = "tenant_suspended" // 403
)

// GrantError is a refusal of the token endpoint, in the words of RFC 6749.
type GrantError struct {
	Code        string
	Description string // plain words, for the client's developer
}

func (e *GrantError) Error() string { return e.Code + ": " + e.Description }

// Grant sells a token to whoever shows a key (RFC 6749, section 4.4). Errors:
// *GrantError, or unavailable.
func (t *Tokens) Grant(ctx context.Context, request GrantRequest) (AccessToken, error) {
	panic("unwritten")
}
