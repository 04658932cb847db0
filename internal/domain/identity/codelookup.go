package identity

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// CodeGuess is a user code as somebody typed it, for a signed-in account.
type CodeGuess struct {
	UserCode string
	Account  domain.AccountID
}

var (
	// errNoCode is one answer for a code that no device shows, for one that has
	// expired, and for one that is another device's by now.
	errNoCode = domain.NotFound("user_code_not_found",
		"No device shows this code, or the code has expired. Check it, or have the device show another.")
	errDecided = domain.Conflict("device_decided",
		"The device was approved for another account, denied or revoked. Begin again on the device.")
)

// LookupCode shows the device that a user code leads to, for the account that is
// asked to approve it.
//
// Errors: invalid user_code_invalid (which is no guess); not found
// account_not_found, user_code_not_found; conflict account_disabled,
// device_decided; limited user_code_guesses_exceeded; unavailable.
func (s *Service) LookupCode(ctx context.Context, scope tenancy.Scope, g CodeGuess) (Device, error) {
	right, err := s.guess(ctx, scope, g)
	if err != nil {
		return Device{}, err
	}
	if err := s.refund(ctx, scope.Tenant, right.paid); err != nil {
		return Device{}, err
	}
	if !right.device.decidable(g.Account) {
		return Device{}, errDecided
	}
	return right.device.Device, nil
}

// decidable tells whether the account may still approve the device, or has.
func (d *deviceRow) decidable(account domain.AccountID) bool {
	return d.Status == DevicePending || d.Status == DeviceApproved && d.Account == account
}

// rightGuess is a guess that led to a device.
type rightGuess struct {
	device *deviceRow
	paid   charge // to the account; the tenant's has been refunded
}

// guess charges an attempt, looks at the code, and refunds the tenant's share if
// that was right. The account's charge is left for the caller to refund.
func (s *Service) guess(ctx context.Context, scope tenancy.Scope, g CodeGuess) (*rightGuess, error) {
	code, err := ParseUserCode(g.UserCode)
	if err != nil {
		return nil, at(err, "/user_code")
	}
	ofAccount, ofTenant, err := s.chargeGuess(ctx, scope.Tenant, g.Account)
	if err != nil {
		return nil, err
	}
	owner, err := s.holder(ctx, scope.Tenant, linkTo(domain.FamilyDeviceCode, code.Key(), domain.Token{}))
	if err != nil {
		// Nobody got to know anything. (A crash here leaves the charges.)
		return nil, s.unlessStopped(ctx, scope.Tenant, err, ofTenant, ofAccount)
	}
	if owner == nil || owner.device == nil {
		s.metrics.guessed(ctx, "wrong")
		return nil, errNoCode
	}
	s.metrics.guessed(ctx, "right")
	if err := s.reach(ctx, "guess judged"); err != nil {
		return nil, err
	}
	return &rightGuess{owner.device, ofAccount}, s.refund(ctx, scope.Tenant, ofTenant)
}

// chargeGuess charges a guess to its account, and then to the tenant: an account
// that is at its limit costs the others nothing.
func (s *Service) chargeGuess(ctx context.Context, tenant domain.TenantID, account domain.AccountID) (ofAccount, ofTenant charge, err error) {
	if ofAccount, err = s.chargeAccount(ctx, tenant, account); err != nil {
		if domain.KindOf(err) == domain.KindLimited {
			s.metrics.guessed(ctx, "account_limited")
		}
		return ofAccount, ofTenant, err
	}
	if err := s.reach(ctx, "guess charged"); err != nil {
		return ofAccount, ofTenant, err
	}
	if ofTenant, err = s.chargeTenant(ctx, tenant); err != nil {
		if domain.KindOf(err) == domain.KindLimited {
			s.metrics.guessed(ctx, "tenant_limited")
		}
		err = s.unlessStopped(ctx, tenant, err, ofAccount)
	}
	return ofAccount, ofTenant, err
}

// unlessStopped refunds an attempt that ended by something else than a wrong
// code, and returns what ended it.
func (s *Service) unlessStopped(ctx context.Context, tenant domain.TenantID, why error, charges ...charge) error {
	if stopped(why) {
		return why
	}
	if err := s.refund(ctx, tenant, charges...); err != nil {
		return err
	}
	return why
}
