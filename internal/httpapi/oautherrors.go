package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// challengeBasic says how a client may authenticate at the token endpoint.
const challengeBasic = `Basic realm="holdfast"`

// renderOAuth writes the problem as RFC 6749, section 5.2, demands: what is
// wrong with the request is invalid_request, and a refusal of the grant has its
// own code. So has a tenant that doesn't serve, which is one of ours. The RFC has
// no word for the rest (too large, too often, unavailable), which stays a problem.
func (p *problem) renderOAuth(c echo.Context) error {
	var refused *tenancy.GrantError
	switch {
	case errors.As(p.cause, &refused):
		return renderOAuthError(c, p, refused.Code, refused.Description)
	case p.status == http.StatusBadRequest, p.status == http.StatusUnprocessableEntity:
		p.status = http.StatusBadRequest
		description := p.detail
		if p.code == codeRequestInvalid { // its detail refers to a list that has no place here
			description = "Missing, or not as the API's description says: " + p.pointers() + "."
		}
		return renderOAuthError(c, p, tenancy.GrantInvalidRequest, description)
	case p.status == http.StatusForbidden:
		return renderOAuthError(c, p, p.code, p.detail)
	default:
		return p.render(c)
	}
}

// pointers names the fields at fault: "client_id, grant_type".
func (p *problem) pointers() string {
	names := make([]string, len(p.fields))
	for i, field := range p.fields {
		names[i] = strings.TrimPrefix(field.Pointer, "/")
	}
	return strings.Join(names, ", ")
}

func renderOAuthError(c echo.Context, p *problem, code, description string) error {
	text, err := json.Marshal(OAuthError{Error: code, ErrorDescription: description})
	if err != nil {
		return err
	}
	p.setHeaders(c.Response().Header())
	return c.Blob(p.status, mediaJSON, text)
}

// grantProblem says how a refused grant is answered.
func grantProblem(refused *tenancy.GrantError) *problem {
	p := &problem{status: http.StatusBadRequest, code: refused.Code, detail: refused.Description, cause: refused}
	switch refused.Code {
	case tenancy.GrantInvalidClient:
		p.status, p.challenge = http.StatusUnauthorized, challengeBasic
	case tenancy.GrantTenantSuspended, tenancy.GrantTenantDeleting:
		p.status = http.StatusForbidden
	}
	return p
}
