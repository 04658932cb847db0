package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// grant is an answer of the token endpoint to a device.
type grant struct {
	token   *holdfast.Token
	refusal string // OAuth's word for it
	lost    bool   // nobody knows
}

func (g grant) String() string {
	switch {
	case g.token != nil:
		return "tokens"
	case g.lost:
		return "no answer"
	default:
		return g.refusal
	}
}

func (p *app) askGrant(t *testing.T, form holdfast.TokenRequest) grant {
	form.ClientID = &p.tv
	answer, err := p.public.CreateTokenWithFormdataBodyWithResponse(t.Context(), form)
	switch {
	case err != nil || answer.StatusCode() == http.StatusServiceUnavailable:
		return grant{lost: true}
	case answer.JSON200 != nil:
		return grant{token: answer.JSON200}
	case answer.JSON400 != nil:
		return grant{refusal: answer.JSON400.Error}
	default:
		return grant{refusal: fmt.Sprintf("%d %s", answer.StatusCode(), answer.Body)}
	}
}

func (p *app) askPoll(t *testing.T, d *device) grant {
	g := p.askGrant(t, holdfast.TokenRequest{GrantType: "urn:ietf:params:oauth:grant-type:device_code", DeviceCode: &d.deviceCode})
	d.note("poll: %v", g)
	return g
}

func (p *app) poll(t *testing.T, d *device) {
	p.hearPoll(t, d, p.askPoll(t, d))
}

// redeem lets two polls come at once to a device that was approved: one of them
// redeems it.
func (p *app) redeem(t *testing.T, d *device) {
	var one, other grant
	side(func() { one = p.askPoll(t, d) }, func() { other = p.askPoll(t, d) })
	if one.token != nil && other.token != nil {
		p.fault(t, d, "two polls redeemed it")
	}
	if one.token == nil {
		one, other = other, one
	}
	if one.token == nil && other.lost { // which may have been the one that did
		one, other = other, one
	}
	p.hearPoll(t, d, one)
	p.hearPoll(t, d, other)
}

func (p *app) hearPoll(t *testing.T, d *device, g grant) {
	possible := true
	switch {
	case g.lost:
		if d.mayBe(approving) && !d.mayBe(redeeming) {
			d.begin(redeeming, nil)
		}
	case g.token != nil:
		p.hearRedeemed(t, d, g.token)
	case g.refusal == "authorization_pending", g.refusal == "slow_down":
		possible = d.told.account == "" && !d.told.denied && !d.told.revoked
	case g.refusal == "access_denied":
		possible = d.mayBe(denying) || d.orphaned()
	case g.refusal == "expired_token":
		possible = d.forgotten
	case g.refusal == "invalid_grant":
		possible = d.mayBe(redeeming) || d.mayBe(revoking) || d.mayBeBarred() || d.forgotten
		if possible && d.opens(redeeming) && p.readDevice(t, d) == nil && d.opens(redeeming) {
			possible = d.mayBe(revoking) || d.mayBeBarred()
		}
	default:
		possible = false
	}
	if !possible {
		p.fault(t, d, "a poll got %s, and it is known as %+v", g.refusal, d.told)
	}
}

// hearRedeemed holds a device's first tokens to its having been approved, for an
// account that is there and active, and to their being the first.
func (p *app) hearRedeemed(t *testing.T, d *device, token *holdfast.Token) {
	account, id := subjectOf(token)
	d.redeemed++
	if d.redeemed > 1 || d.told.redeemed || d.told.denied || d.told.revoked || !d.mayBe(approving) || id != d.id {
		p.fault(t, d, "a poll redeemed it for %s, as %s, for the %d. time, and it is known as %+v", account, id, d.redeemed, d.told)
		return
	}
	if !d.opens(redeeming) {
		d.begin(redeeming, nil)
	}
	now := d.told
	for _, o := range d.open {
		if o.what == redeeming || o.what == approving && o.by.id == account {
			o.apply(&now)
		}
	}
	p.seeDevice(t, d, now)
	d.refresh = token.RefreshToken
	if d.owner == nil || d.owner.id != account || d.owner.surelyBarred() {
		p.fault(t, d, "it was redeemed for %s, which is not the account that may have it: %+v", account, d.owner)
	}
	if d.mayBe(revoking) || d.orphaned() {
		return
	}
	p.ledger.acknowledge(d.id, now.revision, kinds[redeeming])
}

// subjectOf reads whom an access token is for. Nobody but the service has had it.
func subjectOf(token *holdfast.Token) (account, device string) {
	var claims struct {
		Subject string `json:"sub"`
		Device  string `json:"device_id"`
	}
	if parts := strings.Split(token.AccessToken, "."); len(parts) == 3 {
		text, _ := base64.RawURLEncoding.DecodeString(parts[1])
		json.Unmarshal(text, &claims)
	}
	return claims.Subject, claims.Device
}

// turnToken turns a refresh token into the next one, or tries to turn a spent one,
// which ends the device.
func (p *app) turnToken(t *testing.T, d *device, spent bool) {
	if spent && d.spent != "" {
		o := d.begin(revoking, nil)
		g := p.askRefresh(t, d, d.spent)
		switch {
		case g.lost:
			o.lost = true
		case g.refusal == "invalid_grant":
			p.hearDecided(t, d, decided{decision: o})
		default:
			p.fault(t, d, "a spent refresh token got %v", g)
		}
		return
	}
	g := p.askRefresh(t, d, d.refresh)
	switch {
	case g.lost:
		d.lostRefresh = true
	case g.token != nil:
		account, id := subjectOf(g.token)
		if account != d.told.account || id != d.id || d.owner.surelyBarred() {
			p.fault(t, d, "a refresh gave it tokens for %s, as %s, and it is known as %+v", account, id, d.told)
		}
		d.spent, d.refresh, d.lostRefresh = d.refresh, g.token.RefreshToken, false
	case g.refusal == "invalid_grant" && d.lostRefresh:
		o := d.begin(revoking, nil) // its own token was spent by the request that was lost
		if p.readDevice(t, d) == nil && d.opens(revoking) {
			d.drop(o)
			if !d.mayBeBarred() {
				p.fault(t, d, "its refresh token was refused, and it wasn't revoked")
			}
		}
	case g.refusal == "invalid_grant" && d.mayBeBarred():
	default:
		p.fault(t, d, "a refresh got %v, and it is known as %+v", g, d.told)
	}
}

func (p *app) askRefresh(t *testing.T, d *device, token string) grant {
	g := p.askGrant(t, holdfast.TokenRequest{GrantType: "refresh_token", RefreshToken: &token})
	d.note("refresh: %v", g)
	return g
}

// revokeToken ends a device by its refresh token (RFC 7009).
func (p *app) revokeToken(t *testing.T, d *device) {
	o := d.begin(revoking, nil)
	answer, err := p.public.RevokeTokenWithFormdataBodyWithResponse(t.Context(), holdfast.RevocationRequest{ClientID: p.tv, Token: d.refresh})
	d.note("revoke by its token: %v", told(err))
	switch {
	case err != nil || answer.StatusCode() == http.StatusServiceUnavailable:
		o.lost = true
	case answer.StatusCode() == http.StatusOK:
		p.hearDecided(t, d, decided{decision: o})
	default:
		p.fault(t, d, "revoking its token got %d %s", answer.StatusCode(), answer.Body)
		d.drop(o)
	}
}
