package httpapi

import (
	"context"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// fakeTokens knows some callers and one public client.
type fakeTokens struct {
	granted tenancy.GrantRequest
	signed  tenancy.DeviceGrant
}

var knownClient = domain.ClientID{0xab, 15: 3}

var (
	testTenant  = domain.TenantID{0x01, 15: 9}
	otherTenant = domain.TenantID{0x02, 15: 9}
)

func (f *fakeTokens) Authenticate(_ context.Context, token string) (tenancy.Scope, error) {
	switch token {
	case "tenant":
		return tenancy.Scope{Tenant: testTenant, Scopes: tenancy.TenantScopes()}, nil
	case "reader":
		return tenancy.Scope{Tenant: testTenant, Scopes: []string{"identity:read"}}, nil
	case "other":
		return tenancy.Scope{Tenant: otherTenant, Scopes: tenancy.TenantScopes()}, nil
	case "impostor":
		return tenancy.Scope{Tenant: testTenant, Scopes: []string{"identity:read", "operator:tenants"}}, nil
	case "operator":
		return tenancy.Scope{Scopes: []string{"identity:read", "operator:read", "operator:tenants"}}, nil
	case "migrator":
		return tenancy.Scope{Principal: migrator, Name: "grace", Scopes: []string{"operator:migrate", "operator:read"}}, nil
	case "approver":
		return tenancy.Scope{Name: "ada", Scopes: []string{"operator:approve"}}, nil
	default:
		return tenancy.Scope{}, domain.Unauthenticated("token_invalid", "The token is not one of ours.")
	}
}

func (f *fakeTokens) Grant(_ context.Context, want tenancy.GrantRequest) (tenancy.AccessToken, error) {
	f.granted = want
	switch want.ClientSecret {
	case "right":
		return tenancy.AccessToken{Token: "t", Type: "Bearer", ExpiresIn: 900, Scope: "identity:read"}, nil
	case "down":
		return tenancy.AccessToken{}, domain.Unavailable("auth_unavailable", "Try again.")
	case "suspended":
		return tenancy.AccessToken{}, &tenancy.GrantError{Code: tenancy.GrantTenantSuspended, Description: "The tenant is suspended."}
	default:
		return tenancy.AccessToken{}, &tenancy.GrantError{Code: tenancy.GrantInvalidClient, Description: "Unknown client."}
	}
}

func (f *fakeTokens) JWKS() (tenancy.JWKS, error) { return tenancy.JWKS{}, nil }

func theClient() tenancy.Client {
	return tenancy.Client{ID: knownClient, Tenant: testTenant, Scopes: []string{"pause", "play"}, VerificationURI: "https://example.com/device", VerifiedAt: verifiedAt}
}

func (f *fakeTokens) PublicClient(_ context.Context, clientID string) (tenancy.Client, error) {
	switch clientID {
	case tenancy.ClientIDText(knownClient):
		return theClient(), nil
	case "hfc_suspended":
		return tenancy.Client{}, &tenancy.GrantError{Code: tenancy.GrantTenantSuspended, Description: "The tenant is suspended."}
	default:
		return tenancy.Client{}, &tenancy.GrantError{Code: tenancy.GrantInvalidClient, Description: "Unknown client."}
	}
}

func (f *fakeTokens) PublicClientOf(_ context.Context, tenant domain.TenantID, id domain.ClientID) (tenancy.Client, error) {
	if tenant != testTenant || id != knownClient {
		return tenancy.Client{}, domain.Invalid("client_unknown", "The tenant has no such client.").At("/client_id")
	}
	return theClient(), nil
}

func (f *fakeTokens) DeviceToken(grant tenancy.DeviceGrant) (tenancy.AccessToken, error) {
	f.signed = grant
	return tenancy.AccessToken{Token: "a.b.c", Type: "Bearer", ExpiresIn: 900, Scope: strings.Join(grant.Scopes, " ")}, nil
}
