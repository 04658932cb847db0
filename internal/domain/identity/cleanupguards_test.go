package identity

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// TestCleanup_WhatChangesMeanwhileIsJudgedByWhatItIsThen changes what a step has
// found, at a point of the step. Each change takes something out of what is due.
func TestCleanup_WhatChangesMeanwhileIsJudgedByWhatItIsThen(t *testing.T) {
	t.Parallel()
	oneDevice := func(t *testing.T, w *workshop) { w.pending(t, "screen") }
	oneRevoked := func(t *testing.T, w *workshop) { w.revoked(t, w.approved(t, "screen", w.account(t, "ada", ""))) }
	oneTombstone := func(t *testing.T, w *workshop) { w.delete(t, w.account(t, "ada", "")) }
	halfApproved := func(t *testing.T, w *workshop) {
		w.dyingApproval(t, "device linked", w.pending(t, "screen"), w.account(t, "ada", ""))
	}
	shared := newWorkshop(t)
	tombstone := scenario{
		task: CleanTombstones, term: DefaultRetention, build: oneTombstone,
		first: []CleanupTask{CleanEndedQuarantines, CleanDevicesOfDeleted, CleanOldEvents},
	}
	for _, c := range []struct {
		name   string
		sc     scenario
		point  string
		change string   // by the superuser; $1 is the tenant
		want   []string // since the change
	}{
		{"a device was approved since its page was read",
			scenario{task: CleanLapsedDevices, term: DefaultCodeTerm + expiryGrace, build: oneDevice}, "cleanup found",
			`UPDATE devices SET status = 'approved', account_id = device_id, approved_at = updated_at, client_id = NULL, revision = revision + 1 WHERE tenant_id = $1`, nil},
		{"a device was fetched since its page was read",
			scenario{task: CleanLapsedDevices, term: DefaultCodeTerm + expiryGrace, build: oneDevice}, "cleanup found",
			`UPDATE devices SET status = 'approved', account_id = device_id, approved_at = updated_at, redeemed_at = updated_at, revision = revision + 1 WHERE tenant_id = $1`, nil},
		{"a device was revoked since its page was read",
			scenario{task: CleanLapsedDevices, term: DefaultCodeTerm + expiryGrace, build: oneDevice}, "cleanup found",
			`UPDATE devices SET status = 'revoked', revision = revision + 1 WHERE tenant_id = $1`, nil},
		{"a device was removed and made anew since its page was read",
			scenario{task: CleanLapsedDevices, term: DefaultCodeTerm + expiryGrace, build: oneDevice}, "cleanup found",
			`UPDATE devices SET expires_at = expires_at + interval '1 hour' WHERE tenant_id = $1`, nil},
		{"a revoked device was renamed since its page was read",
			scenario{task: CleanRevokedDevices, term: DefaultRetention, build: oneRevoked}, "cleanup found",
			`UPDATE devices SET updated_at = updated_at + interval '1 hour', revision = revision + 1 WHERE tenant_id = $1`, nil},
		{"a revoked device was renamed since its link was doubted",
			scenario{task: CleanRevokedDevices, term: DefaultRetention, build: oneRevoked}, "cleanup link doubted",
			`UPDATE devices SET updated_at = updated_at + interval '1 hour', revision = revision + 1 WHERE tenant_id = $1`, nil},
		{"a device that was revoked is another now",
			scenario{task: CleanRevokedDevices, term: DefaultRetention, build: oneRevoked}, "cleanup found",
			`UPDATE devices SET status = 'denied', account_id = NULL WHERE tenant_id = $1`, nil},
		{"a code was taken over since its claim was found",
			scenario{task: CleanExpiredCodes, term: DefaultCodeTerm + expiryGrace, build: oneDevice}, "cleanup codes found",
			`UPDATE claims SET token = gen_random_uuid() WHERE tenant_id = $1`, nil},
		{"a code was taken over since its page was read",
			scenario{task: CleanExpiredCodes, term: DefaultCodeTerm + expiryGrace, build: oneDevice}, "cleanup found",
			`UPDATE claims SET token = gen_random_uuid() WHERE tenant_id = $1`, nil},
		{"a quarantine is another since its page was read",
			scenario{task: CleanEndedQuarantines, term: DefaultQuarantine, build: oneTombstone}, "cleanup found",
			`UPDATE accounts SET quarantined_until = quarantined_until + interval '1 hour' WHERE tenant_id = $1`, nil},
		{"a quarantine is another since its handle was released",
			scenario{task: CleanEndedQuarantines, term: DefaultQuarantine, build: oneTombstone}, "cleanup handle released",
			`UPDATE accounts SET quarantined_until = quarantined_until + interval '1 hour' WHERE tenant_id = $1`, nil},
		{"a tombstone is an account again since its handle was released",
			scenario{task: CleanEndedQuarantines, term: DefaultQuarantine, build: oneTombstone}, "cleanup handle released",
			`UPDATE accounts SET status = 'active' WHERE tenant_id = $1`, nil},
		{"a tombstone is an account again", tombstone, "cleanup found",
			`UPDATE accounts SET status = 'active', devices_removed_at = NULL, handle = 'ada', handle_key = 'ada', handle_token = gen_random_uuid() WHERE tenant_id = $1`, nil},
		{"a tombstone is a younger one", tombstone, "cleanup found",
			`UPDATE accounts SET deleted_at = deleted_at + interval '1 hour' WHERE tenant_id = $1`, nil},
		{"a tombstone is in quarantine", tombstone, "cleanup found",
			`UPDATE accounts SET handle = 'ada', handle_key = 'ada', handle_token = gen_random_uuid(), quarantined_until = deleted_at WHERE tenant_id = $1`, nil},
		{"a tombstone has devices", tombstone, "cleanup found",
			`UPDATE accounts SET devices_removed_at = NULL WHERE tenant_id = $1`, nil},
		{"a tombstone is told of", tombstone, "cleanup found",
			`INSERT INTO events SELECT tenant_id, number, 'account', account_id, 7, 7, 'account.changed', '{}', 'holdfast', NULL, deleted_at FROM accounts WHERE tenant_id = $1`, nil},
		{"a deleted account got a device since its page was read",
			scenario{task: CleanDevicesOfDeleted, term: minute, build: oneTombstone}, "cleanup found",
			`INSERT INTO account_devices SELECT tenant_id, number, account_id, account_id, true, deleted_at FROM accounts WHERE tenant_id = $1`, nil},
		{"a deleted account is an account again since its page was read",
			scenario{task: CleanDevicesOfDeleted, term: minute, build: oneTombstone}, "cleanup found",
			`UPDATE accounts SET status = 'active' WHERE tenant_id = $1`, nil},
		{"a link was confirmed since its device was asked",
			scenario{task: CleanDoubtfulLinks, term: DefaultCodeTerm + linkGrace, build: halfApproved}, "cleanup link judged",
			`UPDATE account_devices SET confirmed = true WHERE tenant_id = $1`, nil},
		{"a link was made anew since its device was asked",
			scenario{task: CleanDoubtfulLinks, term: DefaultCodeTerm + linkGrace, build: halfApproved}, "cleanup link judged",
			`UPDATE account_devices SET created_at = created_at + interval '1 hour' WHERE tenant_id = $1`, nil},
		{"an email change was replaced since its page was read",
			scenario{task: CleanExpiredChanges, term: emailChangeTerm + expiryGrace, build: func(t *testing.T, w *workshop) {
				a := w.account(t, "ada", "")
				if _, err := w.BeginEmailChange(t.Context(), w.scope, a.ID, BeginEmailChange{Email: "ada@example.com"}); err != nil {
					t.Fatal(err)
				}
			}}, "cleanup found",
			`UPDATE email_changes SET expires_at = expires_at + interval '1 hour' WHERE tenant_id = $1`, nil},
		{"somebody guessed again since the page was read",
			scenario{task: CleanOldGuesses, term: guessWindow, build: func(t *testing.T, w *workshop) {
				_, err := w.LookupCode(t.Context(), w.scope, CodeGuess{UserCode: "BBBB-BBBB", Account: w.account(t, "ada", "").ID})
				expectCode(t, err, domain.KindNotFound, "user_code_not_found")
			}}, "cleanup found",
			`UPDATE code_guesses SET kept_until = kept_until + interval '1 hour' WHERE tenant_id = $1`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := shared.forTenant(t)
			defer w.erase(t)
			c.sc.prepare(t, w)
			c.sc.ripe(t, w)
			w.passes = 1
			var changed snapshot
			slow := w.worker(Options{Faults: &pauseAt{point: c.point, act: func() {
				w.everywhere(t, c.change, w.scope.Tenant)
				changed = w.snapshot(t)
			}}})
			if err := w.clean(t, slow, c.sc.task); err != nil {
				t.Fatal(err)
			}
			if changed == nil {
				t.Fatalf("%s was not reached", c.point)
			}
			if diff := cmp.Diff(c.want, w.since(t, changed)); diff != "" {
				t.Errorf("since the change (-want +got):\n%s", diff)
			}
		})
	}
}

// A device that is being made for an account, as imports do, is not yet there when
// the account's devices are cleared away, and must not come without a link.
func TestCleanup_OfDeletedAccount_WaitsForADeviceThatIsBeingMade(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	a := w.account(t, "ada", "")
	label := "screen"
	id := domain.NewID[domain.DeviceKind](time.Now())
	w.names[id.String()] = label
	device := &newDevice{
		device: &deviceRow{Device: Device{ID: id, Status: DeviceApproved, Account: a.ID, Label: &label}},
		actor:  principalActor(w.scope),
	}
	slow := w.with(Options{Faults: &pauseAt{point: "device linked", act: func() {
		w.delete(t, a)
		w.mustClean(t, CleanDevicesOfDeleted)
		if links := w.linkRows(t); len(links) != 1 {
			t.Errorf("the links are %+v, want the one to the device that is being made", links)
		}
	}}})
	_, err := slow.makeDevice(t.Context(), w.scope.Tenant, device)
	expectCode(t, err, domain.KindNotFound, "account_not_found")
	w.mustClean(t, CleanDevicesOfDeleted)
	if devices, links := w.deviceRows(t), w.linkRows(t); len(devices)+len(links) != 0 {
		t.Errorf("%d devices and %d links are left", len(devices), len(links))
	}
	w.checkEvents(t)
}

// An approval died, its account was deleted, and then the code expired: so nobody
// can let the device in any more, and its link goes while it waits for its own
// time.
func TestCleanup_OfDeletedAccount_LeavesADeviceThatNobodyCanApprove(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	a := w.account(t, "ada", "")
	w.dyingApproval(t, "device linked", w.pending(t, "screen"), a)
	w.delete(t, a)
	w.pass(t, DefaultCodeTerm+time.Minute)
	w.mustClean(t, CleanDevicesOfDeleted)
	if devices, links := w.deviceRows(t), w.linkRows(t); len(links) != 0 || len(devices) != 1 || devices[0].Status != DevicePending {
		t.Errorf("left are the devices %+v and the links %+v", devices, links)
	}
	w.checkEvents(t)
}
