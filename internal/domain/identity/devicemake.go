package identity

import (
	"context"
	"encoding/json"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// newDevice is a device on its way into the directory.
type newDevice struct {
	device *deviceRow
	actor  Actor
}

// makeDevice takes a device through the claims protocol: prepare, claim its user
// code, commit. It serves every status but denied:
//
//   - A UserCode is claimed until ExpiresAt, or, where that is nil, for the term
//     of a code from now on. A device without a code claims nothing, nor does one
//     whose code has expired, as an import may have it: anybody may have that.
//   - A device with an Account is linked to it first; the account may be disabled
//     but must be there. An approved one needs an Account; ApprovedAt is when it
//     was made, if nil.
//   - CreatedAt and ApprovedAt stand as they are given, unless they lie in the
//     future; a zero CreatedAt is now.
//   - A device whose ID derives from something, and so may be there already,
//     needs a fingerprint of what was asked.
//
// It returns nil when the device was made, and sets its revision, its times and
// its token; or the device of its ID that is there already, whose fingerprint
// tells what made it.
//
// A crash leaves what any operation leaves, and perhaps a link whose device does
// not agree, which nobody is shown.
//
// Errors: conflict user_code_taken, claim_pending (at /user_code) and
// request_in_flight; invalid idempotency_key_reused, for an operation under way
// with another fingerprint; not found account_not_found; gone device_removed;
// forbidden quota_exceeded; unavailable; outcome unknown.
func (s *Service) makeDevice(ctx context.Context, tenant domain.TenantID, n *newDevice) (found *deviceRow, err error) {
	if full := s.quotas.Demand(ctx, tenant, domain.Devices, 1); full != nil {
		r, err := s.read(ctx, tenant, deviceRef(n.device.ID), true)
		switch {
		case err != nil:
			return nil, err
		case r.device == nil:
			return nil, full
		}
		return r.device, nil
	}
	if found, err = s.makeWithin(ctx, tenant, n); err == nil && found == nil {
		s.quotas.Grew(tenant, domain.Devices, 1)
	}
	return found, err
}

// makeWithin runs the protocol for a device.
func (s *Service) makeWithin(ctx context.Context, tenant domain.TenantID, n *newDevice) (found *deviceRow, err error) {
	// As for an account: what is prepared would stand in others' way.
	ctx = context.WithoutCancel(ctx)
	for range 2 {
		op, err := deviceCreationOf(ctx, n.device)
		if err != nil {
			return nil, err
		}
		p := &preparing{op: op}
		if err := s.preparing.Do(ctx, s.router.Database(op.record.Number), tenant, p); err != nil {
			return nil, nothingHappened(err)
		}
		switch {
		case p.granted:
			return nil, s.completeDevice(ctx, tenant, n, op)
		case p.found.device != nil:
			return p.found.device, nil
		case op.fingerprint == nil:
			return nil, errExpired // our own, of another code, which we couldn't call off
		case p.found.operation != nil:
			if err := s.helpEarlier(ctx, tenant, op.fingerprint, p.found); err != nil {
				return nil, err
			}
		}
	}
	return nil, errInFlight
}

// completeDevice runs the rest of the protocol for a prepared device.
func (s *Service) completeDevice(ctx context.Context, tenant domain.TenantID, n *newDevice, op *operation) error {
	device := n.device
	op.claimsUntil = device.ExpiresAt
	if !device.UserCode.IsZero() && device.ExpiresAt == nil {
		expires := op.deadline.Add(s.codeTerm - s.deadline)
		op.claimsUntil = &expires
	}
	if prepared := op.deadline.Add(-s.deadline); op.claimsUntil != nil && !prepared.Before(*op.claimsUntil) {
		op.newLinks = nil
	}
	if err := s.reach(ctx, "device prepared"); err != nil {
		return err
	}
	if err := s.claim(ctx, tenant, op); err != nil {
		return s.withdraw(ctx, tenant, op, err)
	}
	if err := s.reach(ctx, "device claimed"); err != nil {
		return err
	}
	if !device.Account.IsZero() {
		if err := s.linkDevice(ctx, tenant, &linking{account: device.Account, device: device.ID, disabledToo: true}); err != nil {
			return s.withdraw(ctx, tenant, op, nothingHappened(err))
		}
	}
	c := &creatingDevice{op: op, newDevice: n}
	if err := s.creatingDevices.Do(ctx, s.router.Database(op.record.Number), tenant, c); err != nil {
		if domain.KindOf(err) == domain.KindOutcomeUnknown {
			return err
		}
		return s.withdraw(ctx, tenant, op, err)
	}
	switch {
	case c.removed:
		return s.withdraw(ctx, tenant, op, errDeviceGone)
	case !c.committed:
		return s.withdraw(ctx, tenant, op, errExpired)
	}
	if err := s.reach(ctx, "device committed"); err != nil {
		return err
	}
	if device.Account.IsZero() {
		return nil
	}
	return s.confirmLink(ctx, tenant, device.Account, device.ID)
}

// proposedDevice is a device as its operation keeps it, for people who look into
// one that a crash left.
type proposedDevice struct {
	Status   DeviceStatus     `json:"status"`
	Account  domain.AccountID `json:"account_id,omitzero"`
	Label    *string          `json:"label,omitempty"`
	Client   domain.ClientID  `json:"client_id,omitzero"`
	Scopes   []string         `json:"scopes,omitempty"`
	UserCode string           `json:"user_code,omitempty"`
}

// deviceCreationOf makes the operation that creates a device, under a new token.
func deviceCreationOf(ctx context.Context, d *deviceRow) (*operation, error) {
	token := domain.RandomID[domain.TokenKind]()
	d.userCodeToken = domain.Token{}
	if !d.UserCode.IsZero() {
		d.userCodeToken = token
	}
	proposal, err := json.Marshal(proposedDevice{d.Status, d.Account, d.Label, d.Client, d.Scopes, d.UserCode.String()})
	if err != nil {
		return nil, err
	}
	return &operation{
		record:      deviceRef(d.ID),
		token:       token,
		state:       prepared,
		proposal:    proposal,
		newLinks:    d.links(),
		fingerprint: d.fingerprint,
		traceparent: traceparent(ctx),
	}, nil
}
