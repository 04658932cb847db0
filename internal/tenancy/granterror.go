package tenancy

// The codes of a GrantError: those of RFC 6749, section 5.2, of RFC 8628,
// section 3.5, and of RFC 7009, section 2.2.1, and two of ours.
const (
	GrantInvalidRequest       = "invalid_request"
	GrantInvalidClient        = "invalid_client" // 401, with WWW-Authenticate: Basic
	GrantInvalidGrant         = "invalid_grant"
	GrantInvalidScope         = "invalid_scope"
	GrantUnauthorizedClient   = "unauthorized_client"
	GrantUnsupportedGrantType = "unsupported_grant_type"

	GrantAuthorizationPending = "authorization_pending"
	GrantSlowDown             = "slow_down"
	GrantAccessDenied         = "access_denied"
	GrantExpiredToken         = "expired_token"

	GrantUnsupportedTokenType = "unsupported_token_type"

	GrantTenantSuspended = "tenant_suspended" // 403
	GrantTenantDeleting  = "tenant_deleting"  // 403
)

// GrantError is a refusal of the OAuth endpoints, in the words of their RFCs.
type GrantError struct {
	Code        string
	Description string // plain words, for the client's developer
}

func (e *GrantError) Error() string { return e.Code + ": " + e.Description }
