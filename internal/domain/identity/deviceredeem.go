package identity

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Redeemed is what a device code or a refresh token has earned.
type Redeemed struct {
	Device       domain.DeviceID
	Account      domain.AccountID
	Scopes       []string // of the access token
	RefreshToken string   // the next of the chain, for the device alone
}

const sqlRedeemDevice = `
UPDATE devices SET revision = $5, updated_at = $6, redeemed_at = $6,
       refresh_generation = 1, refresh_hash = $7, refresh_key_id = $8, refresh_expires_at = $9
 WHERE tenant_id = $1 AND number = $2 AND device_id = $3 AND revision = $4
   AND status = 'approved' AND redeemed_at IS NULL AND expires_at > $6`

// redeem turns an approved device's code into its first tokens. The account is
// asked first, in its own bucket, and then the device is asked again, under its
// lock.
//
// A crash behind the commit leaves a redeemed device whose client was not told:
// it begins again.
func (s *Service) redeem(ctx context.Context, client tenancy.Client, id domain.DeviceID, account domain.AccountID) (Redeemed, error) {
	if err := s.demandActive(ctx, client.Tenant, id, account); err != nil {
		return Redeemed{}, err
	}
	if err := s.reach(ctx, "device redeemable"); err != nil {
		return Redeemed{}, err
	}
	first := s.firstRefresh(client.Tenant, id)
	var redeemed Redeemed
	err := s.changeDevice(ctx, client.Tenant, id, func(c *deviceChange) error {
		d := c.device
		switch {
		case d.Status != DeviceApproved || d.Account != account || d.RedeemedAt != nil:
			return errInvalidGrant
		case !d.codeLives(c.now):
			return errCodeExpired
		}
		c.commit(sqlRedeemDevice, DeviceRedeemed, []string{"redeemed_at"}, clientActor(client),
			c.now, first.hash, first.serverKeyID, c.now.Add(s.refreshTerm))
		redeemed = Redeemed{id, account, grantedTo(client, d), first.token.String()}
		return nil
	})
	if err != nil {
		return Redeemed{}, orInvalidGrant(err)
	}
	return redeemed, s.reach(ctx, "device redeemed")
}

// demandActive holds the account of a device to be active. The device of an
// account that was deleted is revoked.
func (s *Service) demandActive(ctx context.Context, tenant domain.TenantID, id domain.DeviceID, account domain.AccountID) error {
	r, err := s.read(ctx, tenant, accountRef(account), true)
	switch {
	case err != nil:
		return err
	case r.account.visible() && r.account.Status == Active:
		return nil
	case r.account.visible():
		return errInvalidGrant
	}
	err = s.disown(ctx, tenant, account, id)
	if stopped(err) {
		return err
	}
	return errInvalidGrant
}

// grantedTo is what the device may do: what it was approved for, of what its
// client may ask for.
func grantedTo(client tenancy.Client, d *deviceRow) []string {
	return slices.DeleteFunc(slices.Clone(d.Scopes), func(scope string) bool { return !within([]string{scope}, client.Scopes) })
}

func clientActor(client tenancy.Client) Actor {
	return Actor{ActorClient, domain.RecordID(client.ID)}
}

// orInvalidGrant says of a device that was removed meanwhile what a flow says of any that
// isn't there.
func orInvalidGrant(err error) error {
	if domain.CodeOf(err) == errNoDevice.Code {
		return errInvalidGrant
	}
	return err
}
