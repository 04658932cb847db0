package identity

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// AuthorizeDevice asks for a device, in the words of a public client.
type AuthorizeDevice struct {
	Scopes []string // none stands for all that the client may ask for
	Label  *string  // at most 200 characters
}

// AuthorizeDevice begins a device flow (RFC 8628, section 3.1): the device shows
// the user code and polls with the device code, at first every PollInterval. The
// client is one that Tokens vouched for just now.
//
// Errors: *tenancy.GrantError invalid_scope, invalid_request; unavailable;
// outcome unknown.
func (s *Service) AuthorizeDevice(ctx context.Context, client tenancy.Client, req AuthorizeDevice) (CreatedDevice, error) {
	if err := checkLabel(req.Label); err != nil {
		return CreatedDevice{}, asGrantError(tenancy.GrantInvalidRequest, err)
	}
	scopes, err := scopesOf(client, req.Scopes)
	if err != nil {
		return CreatedDevice{}, asGrantError(tenancy.GrantInvalidScope, err)
	}
	device := s.pendingDevice(client.Tenant, domain.NewID[domain.DeviceKind](time.Now()), client, req.Label, scopes)
	return s.createDevice(ctx, client.Tenant, &newDevice{device: device, actor: clientActor(client)})
}

// asGrantError says in OAuth's words what is wrong with a request.
func asGrantError(code string, err error) error {
	var e *domain.Error
	if errors.As(err, &e) {
		return &tenancy.GrantError{Code: code, Description: e.Detail}
	}
	return err
}
