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

// lookup reads the claim of a key and then the record that it leads to, and
// answers only when both agree on key and token. A claim that leads to work
// which anybody may finish gets it finished, and one more try; one whose
// operation is still within its deadline is not found yet.
func (s *Service) lookup(ctx context.Context, tenant domain.TenantID, key link) (Account, error) {
	for try := range 2 {
		c, err := s.resolve(ctx, tenant, key)
		if err != nil {
			return Account{}, err
		}
		if c == nil {
			return Account{}, errUnresolved
		}
		owner, err := s.read(ctx, tenant, c.owner, true)
		if err != nil {
			return Account{}, err
		}
		if owner.account.visible() && owner.holds(c.link) {
			return owner.account.Account, nil
		}
		if try > 0 {
			break
		}
		recovered, err := s.recover(ctx, tenant, c.owner)
		if err != nil {
			return Account{}, err
		}
		if !recovered {
			break
		}
	}
	return Account{}, errUnresolved
}
