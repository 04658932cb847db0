package identity

import (
	"testing"
	"time"
)

// A database's clock was put back, or a record has come from one whose clock is
// ahead: no change of it, nor the event that tells of that, is earlier than the one
// before.
func TestChanges_OfARecordFromTheFuture_AreNotEarlierThanItsLast(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada := d.create(t, "ada", "")
	tv := d.authorize(t, d.client(), "tv")
	for _, table := range []string{"accounts", "devices"} {
		d.everywhere(t, `UPDATE `+table+` SET updated_at = updated_at + interval '1 hour'`)
	}
	account := d.mustRename(t, ada, "Ada")
	device, err := d.PatchDevice(t.Context(), d.scope, tv.ID, 1, DevicePatch{})
	if err != nil {
		t.Fatal(err)
	}
	if last := ada.UpdatedAt.Add(time.Hour); account.UpdatedAt.Before(last) {
		t.Errorf("the account was changed at %v, behind a change at %v", account.UpdatedAt, last)
	}
	if last := tv.UpdatedAt.Add(time.Hour); device.UpdatedAt.Before(last) {
		t.Errorf("the device was changed at %v, behind a change at %v", device.UpdatedAt, last)
	}
	for _, e := range d.eventRows(t) {
		if at := map[EventKind]time.Time{AccountChanged: account.UpdatedAt, DeviceChanged: device.UpdatedAt}[e.Kind]; e.At.Before(at) {
			t.Errorf("%s tells of %v, and is of %v", e.Kind, at, e.At)
		}
	}
}
