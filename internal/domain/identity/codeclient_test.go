package identity

import (
	"context"
	"errors"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// oneClient answers for the client of that id.
type oneClient struct {
	tenant domain.TenantID
	id     domain.ClientID
	err    error
}

func (c oneClient) PublicClientOf(_ context.Context, tenant domain.TenantID, id domain.ClientID) (tenancy.Client, error) {
	if tenant != c.tenant || id != c.id {
		return tenancy.Client{}, errors.New("asked about another client")
	}
	return tenancy.Client{ID: id, Tenant: tenant}, c.err
}

func TestApprove_OfADisabledClientsDevice_IsRefused_AndItsDenialIsNot(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, client := d.create(t, "ada", ""), d.client()
	waiting, given := d.authorize(t, client, "waiting"), d.authorize(t, client, "given")
	d.approve(t, given, ada)
	clients := oneClient{d.scope.Tenant, client.ID, domain.Invalid("client_unknown", "It was disabled.").At("/client_id")}
	before := d.state(t)

	_, err := d.Service.ApproveDevice(t.Context(), d.scope, d.guessOf(waiting, ada), clients)
	expectCode(t, err, domain.KindConflict, "client_disabled")
	d.expectState(t, before)
	if again, err := d.Service.ApproveDevice(t.Context(), d.scope, d.guessOf(given, ada), clients); err != nil || again.Revision != 2 {
		t.Errorf("what was approved before is approved again: %+v, %v", again, err)
	}
	if found, err := d.LookupCode(t.Context(), d.scope, d.guessOf(waiting, ada)); err != nil || found.Status != DevicePending {
		t.Errorf("looked up: %+v, %v", found, err)
	}
	if denied, err := d.DenyDevice(t.Context(), d.scope, d.guessOf(waiting, ada)); err != nil || denied.Status != DeviceDenied {
		t.Errorf("denied: %+v, %v", denied, err)
	}
	d.expectNothingCharged(t)
}

func TestApprove_WhereNobodyKnowsTheClient_ChangesNothing(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, client := d.create(t, "ada", ""), d.client()
	device := d.authorize(t, client, "tv")
	before := d.state(t)
	clients := oneClient{d.scope.Tenant, client.ID, domain.Unavailable("auth_unavailable", "Try again.")}
	_, err := d.Service.ApproveDevice(t.Context(), d.scope, d.guessOf(device, ada), clients)
	expectCode(t, err, domain.KindUnavailable, "auth_unavailable")
	d.expectState(t, before)
	d.expectNothingCharged(t)
}

func TestApprove_OfADeviceWithoutAClient_AsksAboutNone(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada := d.create(t, "ada", "")
	device, err := d.CreateDevice(t.Context(), d.scope, CreateDevice{})
	if err != nil {
		t.Fatal(err)
	}
	approved, err := d.Service.ApproveDevice(t.Context(), d.scope, d.guessOf(device, ada), oneClient{})
	if err != nil || approved.Status != DeviceApproved {
		t.Errorf("approved: %+v, %v", approved, err)
	}
}
