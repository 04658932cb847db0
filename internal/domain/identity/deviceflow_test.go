package identity

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func TestDeviceFlow_FromTheFirstPollToTheLastToken(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada := d.create(t, "ada", "")
	client := d.client("play", "watch")
	device := d.authorize(t, client, "tv")

	for range 3 { // at once, and each time that it was told to
		_, err := d.poll(t.Context(), client, device)
		expectGrant(t, err, tenancy.GrantAuthorizationPending)
		d.passTime(t, PollInterval)
	}
	d.approve(t, device, ada)
	got, err := d.poll(t.Context(), client, device)
	if err != nil {
		t.Fatal(err)
	}
	want := Redeemed{Device: device.ID, Account: ada.ID, Scopes: []string{"play", "watch"}, RefreshToken: got.RefreshToken}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("redeemed (-want +got)\n%s", diff)
	}
	next, err := d.refresh(t.Context(), client, got.RefreshToken)
	if err != nil {
		t.Fatal(err)
	}
	want.RefreshToken = next.RefreshToken
	if diff := cmp.Diff(want, next); diff != "" || next.RefreshToken == got.RefreshToken {
		t.Errorf("refreshed (-want +got)\n%s", diff)
	}
	d.expectState(t, state{
		Accounts: []string{"ada - active rev 1"},
		Devices:  []string{"tv approved rev 3 of ada, redeemed, token 2"},
		Links:    []string{"ada to tv"},
		Claims:   []string{"device-code code of tv", "handle ada of ada"},
		Events: []string{
			"ada 1 account.created by principal [handle]",
			"tv 1 device.created by client [client_id label scopes status]",
			"tv 2 device.approved by principal [account_id status]",
			"tv 3 device.redeemed by client [redeemed_at]",
		},
	})
	if err := d.RevokeRefreshToken(t.Context(), client, next.RefreshToken); err != nil {
		t.Fatal(err)
	}
	_, err = d.refresh(t.Context(), client, next.RefreshToken)
	expectGrant(t, err, tenancy.GrantInvalidGrant)
	d.checkInvariants(t, true)
	if n, m := d.charged(t, ada.ID); n+m != 0 {
		t.Errorf("%d and %d guesses stay charged, and all were right", n, m)
	}
}
