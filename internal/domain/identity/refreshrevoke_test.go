package identity

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestRevokeRefreshToken_EndsTheDevice(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, client := d.create(t, "ada", ""), d.client()
	for _, spent := range []bool{false, true} {
		device, tokens := d.redeemed(t, client, "tv", ada)
		next, err := d.refresh(t.Context(), client, tokens.RefreshToken)
		if err != nil {
			t.Fatal(err)
		}
		token := next.RefreshToken
		if spent {
			token = tokens.RefreshToken
		}
		for range 2 { // and again
			if err := d.RevokeRefreshToken(t.Context(), client, token); err != nil {
				t.Error(err)
			}
		}
		d.expectReused(t, client, device.ID, next.RefreshToken)
	}
	d.checkInvariants(t, true)
}

// A device that is removed while its token is being revoked is as good as revoked.
func TestRevokeRefreshToken_OfADeviceThatIsRemovedMeanwhile_IsFine(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	client := d.client()
	device, tokens := d.redeemed(t, client, "tv", d.create(t, "ada", ""))
	r := d.remote(t, Options{})
	trap := r.network.HoldBefore(t, testkit.Statement("d.device_id = $3"))
	done := make(chan error, 1)
	go func() { done <- r.RevokeRefreshToken(t.Context(), client, tokens.RefreshToken) }()
	<-trap.Met()
	d.everywhere(t, `DELETE FROM devices WHERE device_id = $1`, device.ID)
	trap.Release()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
