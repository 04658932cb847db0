package identity

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// errUnresolved is the answer for a key that leads to no committed account.
var errUnresolved = domain.NotFound("account_not_found", "There is no account with this handle or email.")

// LookupHandle finds the account that holds a handle, in any spelling of it.
//
// Errors: invalid for what can't be a handle, not found, unavailable.
func (s *Service) LookupHandle(ctx context.Context, scope tenancy.Scope, handle string) (Account, error) {
	policy, err := ParseHandlePolicy(scope.Settings.HandlePolicy)
	if err != nil {
		return Account{}, err
	}
	h, err := ParseHandle(policy, Reserved{}, handle)
	if err != nil {
		return Account{}, at(err, "/handle")
	}
	return s.lookup(ctx, scope.Tenant, linkTo(domain.FamilyHandle, h.Key(), domain.Token{}))
}

// LookupEmail finds the account that holds a verified address.
func (s *Service) LookupEmail(ctx context.Context, scope tenancy.Scope, email string) (Account, error) {
	policy, err := ParseHandlePolicy(scope.Settings.HandlePolicy)
	if err != nil {
		return Account{}, err
	}
	e, err := ParseEmail(policy, email)
	if err != nil {
		return Account{}, at(err, "/email")
	}
	return s.lookup(ctx, scope.Tenant, linkTo(domain.FamilyEmail, e.Key(), domain.Token{}))
}

// lookup finds the account that holds a key.
func (s *Service) lookup(ctx context.Context, tenant domain.TenantID, key link) (Account, error) {
	owner, err := s.holder(ctx, tenant, key)
	if err != nil {
		return Account{}, err
	}
	if owner == nil {
		return Account{}, errUnresolved
	}
	return owner.account.Account, nil
}

// holder reads the claim of a key and then the record that it leads to, and
// answers only when both agree on key and token; nil otherwise. A claim that
// leads to work which anybody may finish gets it finished, and one more try; one
// whose operation is still within its deadline is not found yet.
func (s *Service) holder(ctx context.Context, tenant domain.TenantID, key link) (*reading, error) {
	light := key.Family != domain.FamilyDeviceCode // whose expiry is judged by the device's clock
	for try := range 2 {
		c, err := s.resolve(ctx, tenant, key)
		if err != nil {
			return nil, err
		}
		if c == nil || c.expired {
			return nil, nil
		}
		owner, err := s.read(ctx, tenant, c.owner, light)
		if err != nil {
			return nil, err
		}
		if owner.visible() && owner.holds(c.link) {
			return owner, nil
		}
		if try > 0 {
			break
		}
		recovered, err := s.recover(ctx, tenant, c.owner)
		if err != nil {
			return nil, nothingHappened(err) // a look-up has no outcome of its own
		}
		if !recovered {
			break
		}
	}
	return nil, nil
}
