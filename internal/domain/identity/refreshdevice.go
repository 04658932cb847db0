package identity

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

var errInvalidScope = &tenancy.GrantError{Code: tenancy.GrantInvalidScope,
	Description: "The device was not approved for one of the scopes."}

// A rotation is no change of the record: neither its revision nor its events tell
// of it. A device that has a token is approved: the table holds it to that.
const sqlRotateRefresh = `
UPDATE devices SET refresh_generation = $6, refresh_hash = $7, refresh_key_id = $8, refresh_expires_at = $9
 WHERE tenant_id = $1 AND number = $2 AND device_id = $3
   AND refresh_generation = $4 AND refresh_hash = $5 AND refresh_expires_at > $10`

const sqlDemandRefresh = `
SELECT demand(count(*) = 1) FROM devices
 WHERE tenant_id = $1 AND number = $2 AND device_id = $3 AND refresh_generation = $4 AND refresh_hash = $5`

// RefreshDevice turns a refresh token into the next one (RFC 6749, section 6),
// which lives for 30 days. The access token may be for fewer scopes; the next
// refresh is for all of them again.
//
// A token that was turned into another before is known by two: which of them is
// the device, nobody can tell, so the device is revoked (RFC 9700, section
// 4.14.2). That includes two requests at once with one token, and a retry of an
// answer that was lost: its device begins again.
//
// Errors: *tenancy.GrantError invalid_grant, invalid_scope; unavailable; outcome
// unknown, after which the token may have been turned.
func (s *Service) RefreshDevice(ctx context.Context, client tenancy.Client, token string, scopes []string) (Redeemed, error) {
	t, ok := parseRefreshToken(token)
	if !ok {
		return Redeemed{}, errInvalidGrant
	}
	d, standing, err := s.readRefresh(ctx, client, t)
	switch {
	case err != nil:
		return Redeemed{}, err
	case standing == unknownToken:
		return Redeemed{}, errInvalidGrant
	case standing == currentToken:
		if err := s.demandActive(ctx, client.Tenant, d.ID, d.Account); err != nil {
			return Redeemed{}, err
		}
	}
	if err := s.reach(ctx, "device refreshable"); err != nil {
		return Redeemed{}, err
	}
	r := &refreshing{client: client, token: t, account: d.Account, scopes: scopes}
	if err := s.changeDevice(ctx, client.Tenant, t.device, func(c *deviceChange) error { return s.turn(c, r) }); err != nil {
		return Redeemed{}, orInvalidGrant(err)
	}
	if err := s.reach(ctx, "device refreshed"); err != nil {
		return Redeemed{}, err
	}
	if r.reused {
		s.metrics.reuses.Add(ctx, 1)
		return Redeemed{}, errInvalidGrant
	}
	return r.redeemed, nil
}

// readRefresh reads the device that a token names, and the token's standing. Both
// are judged again under the device's lock.
func (s *Service) readRefresh(ctx context.Context, client tenancy.Client, t refreshToken) (*deviceRow, refreshStanding, error) {
	r, err := s.read(ctx, client.Tenant, deviceRef(t.device), true)
	if err != nil || r.device == nil {
		return nil, unknownToken, err
	}
	return r.device, s.standingOf(client, r.device, t), nil
}

// refreshing is the decision on a refresh token, in its device's bucket.
type refreshing struct {
	client  tenancy.Client
	token   refreshToken
	account domain.AccountID // that was asked, and was active
	scopes  []string         // asked for; none stands for all

	reused   bool // the device was revoked
	redeemed Redeemed
}

// turn turns the token into the next, or, if that was done before, revokes the
// device.
func (s *Service) turn(c *deviceChange, r *refreshing) error {
	d := c.device
	switch s.standingOf(r.client, d, r.token) {
	case unknownToken:
		return errInvalidGrant
	case spentToken:
		c.revoke(clientActor(r.client))
		r.reused = true
		return nil
	}
	granted := grantedTo(r.client, d)
	scopes := slices.Compact(slices.Sorted(slices.Values(r.scopes)))
	switch {
	case !d.refresh.lives(c.now) || d.Account != r.account:
		return errInvalidGrant
	case !within(scopes, granted):
		return errInvalidScope
	case len(scopes) == 0:
		scopes = granted
	}
	next, number := s.nextRefresh(r.client.Tenant, d), int16(c.record.Number)
	c.tx.Queue(sqlRotateRefresh, number, d.ID, d.refresh.generation, d.refresh.hash,
		next.token.generation, next.hash, next.serverKeyID, c.now.Add(s.refreshTerm), c.now)
	c.tx.Queue(sqlDemandRefresh, number, d.ID, next.token.generation, next.hash)
	r.redeemed = Redeemed{d.ID, d.Account, scopes, next.token.String()}
	return nil
}

// RevokeRefreshToken revokes a refresh token and its device with it (RFC 7009,
// section 2.1): the chain's last token or a spent one. A token that is nobody's
// or another client's is as good as revoked.
//
// Errors: unavailable, outcome unknown.
func (s *Service) RevokeRefreshToken(ctx context.Context, client tenancy.Client, token string) error {
	t, ok := parseRefreshToken(token)
	if !ok {
		return nil
	}
	_, standing, err := s.readRefresh(ctx, client, t)
	if err != nil || standing == unknownToken {
		return err
	}
	err = s.changeDevice(ctx, client.Tenant, t.device, func(c *deviceChange) error {
		c.revoke(clientActor(client))
		return nil
	})
	if domain.KindOf(err) == domain.KindNotFound {
		return nil // it was removed meanwhile
	}
	return err
}
