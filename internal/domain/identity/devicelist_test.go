package identity

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// labels walks an account's devices page by page, and gives their labels.
func (d *directory) labels(t testing.TB, account Account, status *DeviceStatus, limit int) (labels []string) {
	t.Helper()
	var after domain.DeviceID
	for {
		page, err := d.AccountDevices(t.Context(), d.scope, account.ID, status, after, limit)
		if err != nil {
			t.Fatal(err)
		}
		if page.Next != nil && len(page.Devices) != limit {
			t.Errorf("a page of %d that is not the last has %d devices", limit, len(page.Devices))
		}
		for _, device := range page.Devices {
			labels = append(labels, *device.Label)
		}
		if page.Next == nil {
			return labels
		}
		after = *page.Next
	}
}

// A link is written before its device agrees, so one proves nothing: a device is
// shown with the account that it names, and with no other.
func TestAccountDevices_AreThoseThatAgree(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, bob, client := d.create(t, "ada", ""), d.create(t, "bob", ""), d.client()
	var all, revoked []string
	for i := range 12 {
		device := d.authorize(t, client, numbered("tv-%02d", i))
		switch i % 4 {
		case 0: // an approval that died behind its link
			dying := d.with(Options{Faults: &crashAt{point: "device linked", nth: 1}})
			if _, err := dying.ApproveDevice(t.Context(), d.scope, d.guessOf(device, ada)); !stopped(err) {
				t.Fatal(err)
			}
		case 1: // one that died so, and another account that got the device
			dying := d.with(Options{Faults: &crashAt{point: "device linked", nth: 1}})
			if _, err := dying.ApproveDevice(t.Context(), d.scope, d.guessOf(device, ada)); !stopped(err) {
				t.Fatal(err)
			}
			d.approve(t, device, bob)
		case 2:
			d.approve(t, device, ada)
			all = append(all, *device.Label)
		case 3:
			approved := d.approve(t, device, ada)
			if err := d.RevokeDevice(t.Context(), d.scope, device.ID, approved.Revision); err != nil {
				t.Fatal(err)
			}
			all, revoked = append(all, *device.Label), append(revoked, *device.Label)
		}
	}
	ended := DeviceRevoked
	for _, limit := range []int{1, 2, 3, 5, 6, 7, MaxPage} {
		got := d.labels(t, ada, nil, limit)
		slices.Sort(got)
		if diff := cmp.Diff(all, got); diff != "" {
			t.Errorf("%d a page (-want +got)\n%s", limit, diff)
		}
		got = d.labels(t, ada, &ended, limit)
		slices.Sort(got)
		if diff := cmp.Diff(revoked, got); diff != "" {
			t.Errorf("revoked, %d a page (-want +got)\n%s", limit, diff)
		}
	}
	if got := d.labels(t, bob, nil, 10); len(got) != 3 {
		t.Errorf("bob has %v", got)
	}
	if n := len(d.linkRows(t)); n != 15 {
		t.Errorf("%d links, and not the fifteen that this test is about", n)
	}
	d.checkInvariants(t, true)
}

func TestAccountDevices_OfNoAccount(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada := d.create(t, "ada", "")
	if got := d.labels(t, ada, nil, 10); got != nil {
		t.Errorf("an account without devices has %v", got)
	}
	d.redeemed(t, d.client(), "tv", ada)
	if err := d.Delete(t.Context(), d.scope, ada.ID, 1); err != nil {
		t.Fatal(err)
	}
	for _, id := range []domain.AccountID{ada.ID, domain.RandomID[domain.AccountKind]()} {
		_, err := d.AccountDevices(t.Context(), d.scope, id, nil, domain.DeviceID{}, 10)
		expectCode(t, err, domain.KindNotFound, "account_not_found")
	}
}
