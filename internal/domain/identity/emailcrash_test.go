package identity

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// dieConfirming confirms a change in a process that dies at a point.
func (d *directory) dieConfirming(t testing.TB, point string, account domain.AccountID, change EmailChange) {
	t.Helper()
	dying := d.with(Options{Faults: &crashAt{point: point, nth: 1}})
	if err := dying.confirm(t, account, change, change.Code); !stopped(err) {
		t.Fatalf("the process did not die at %q: %v", point, err)
	}
}

// expectLookups holds what each address leads to: an account, or nothing where
// it is zero.
func (d *directory) expectLookups(t testing.TB, want map[string]domain.AccountID) {
	t.Helper()
	for email, id := range want {
		found, err := d.LookupEmail(t.Context(), d.scope, email)
		if id.IsZero() {
			expectCode(t, err, domain.KindNotFound, "account_not_found")
			continue
		}
		if err != nil || found.ID != id {
			t.Errorf("%s leads to %v, %v, want %v", email, found.ID, err, id)
		}
	}
}

// An account whose change is stuck goes on: it is read and updated at once, found
// by its address in force and not by the other, and may be changed again when the
// deadline is over.
func TestStuckPreparedChange_DoesNotHoldUpItsAccount(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"change prepared", "change claimed"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			d := newDirectory(t, Options{})
			a := d.create(t, "ada", "old@example.com")
			change := d.mustBegin(t, a.ID, "new@example.com")
			d.dieConfirming(t, point, a.ID, change)

			expectCode(t, d.confirm(t, a.ID, change, change.Code), domain.KindConflict, "change_pending")
			expectCode(t, d.Delete(t.Context(), d.scope, a.ID, 1), domain.KindConflict, "change_pending")
			_, err := d.RemoveEmail(t.Context(), d.scope, a.ID, nil)
			expectCode(t, err, domain.KindConflict, "change_pending")
			if read, err := d.Get(t.Context(), d.scope, a.ID); err != nil || read.Email != a.Email || read.Revision != 1 {
				t.Errorf("read %+v, %v", read, err)
			}
			if _, err := d.rename(t.Context(), a, "Ada"); err != nil {
				t.Errorf("an update: %v", err)
			}
			byAddress := map[string]domain.AccountID{"old@example.com": a.ID, "new@example.com": {}}
			d.expectLookups(t, byAddress)
			d.expire(t)
			d.expectLookups(t, byAddress) // which finish what is overdue and in their way
			if err := d.confirm(t, a.ID, change, change.Code); err != nil {
				t.Errorf("behind the deadline: %v", err)
			}
			d.expectLookups(t, map[string]domain.AccountID{"old@example.com": {}, "new@example.com": a.ID})
			d.expectState(t, state{
				Accounts: []string{"ada new@example.com active rev 3"},
				Claims:   []string{"email new@example.com of ada", "handle ada of ada"},
				Events: []string{
					"ada 1 account.created by principal [handle email]",
					"ada 2 account.changed by principal [display_name]",
					"ada 3 account.email_changed by principal [email]",
				},
			})
			d.checkInvariants(t, true)
		})
	}
}

// A change that committed counts, though its caller died before the old address
// was released: whoever meets that releases it.
func TestCommittedChange_WhoseCallerDied_IsFinishedByWhoMeetsIt(t *testing.T) {
	t.Parallel()
	meets := map[string]func(*testing.T, *directory, domain.AccountID){
		"a lookup by the old address": func(t *testing.T, d *directory, _ domain.AccountID) {
			d.expectLookups(t, map[string]domain.AccountID{"old@example.com": {}})
		},
		"the next change": func(t *testing.T, d *directory, id domain.AccountID) {
			change := d.mustBegin(t, id, "next@example.com")
			if err := d.confirm(t, id, change, change.Code); err != nil {
				t.Error(err)
			}
		},
		"a removal": func(t *testing.T, d *directory, id domain.AccountID) {
			if _, err := d.RemoveEmail(t.Context(), d.scope, id, nil); err != nil {
				t.Error(err)
			}
		},
		"a deletion": func(t *testing.T, d *directory, id domain.AccountID) {
			if err := d.Delete(t.Context(), d.scope, id, 2); err != nil {
				t.Error(err)
			}
		},
		"who wants the old address": func(t *testing.T, d *directory, _ domain.AccountID) {
			d.create(t, "bob", "old@example.com")
		},
		"the sweep": func(t *testing.T, d *directory, _ domain.AccountID) { d.sweepAll(t) },
	}
	for who, meet := range meets {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			d := newDirectory(t, Options{})
			a := d.create(t, "ada", "old@example.com")
			change := d.mustBegin(t, a.ID, "new@example.com")
			d.dieConfirming(t, "change committed", a.ID, change)
			d.expectLookups(t, map[string]domain.AccountID{"new@example.com": a.ID})
			meet(t, d, a.ID)
			d.checkInvariants(t, true)
		})
	}
}

// A→B→A: the release of the first change comes when the account has taken its
// first address again, and leaves that claim alone.
func TestLateReleaseOfAChange_LeavesTheAddressThatTheAccountTookBack(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "a@example.com")
	first := d.mustBegin(t, a.ID, "b@example.com")
	slow := d.with(Options{Faults: &pauseAt{point: "change committed", act: func() {
		d.sweepAll(t) // a helper is faster
		d.changeEmail(t, a.ID, "a@example.com")
	}}})
	if err := slow.confirm(t, a.ID, first, first.Code); err != nil { // and goes on to release a@example.com
		t.Error(err)
	}
	d.expectLookups(t, map[string]domain.AccountID{"a@example.com": a.ID, "b@example.com": {}})
	d.expectState(t, state{
		Accounts: []string{"ada a@example.com active rev 3"},
		Claims:   []string{"email a@example.com of ada", "handle ada of ada"},
		Events: []string{
			"ada 1 account.created by principal [handle email]",
			"ada 2 account.email_changed by principal [email]",
			"ada 3 account.email_changed by principal [email]",
		},
	})
	d.checkInvariants(t, true)
}

// The same with another's claim in between, and with the release in a helper's
// hands.
func TestLateReleaseOfAChange_LeavesAnothersClaim(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "a@example.com")
	change := d.mustBegin(t, a.ID, "b@example.com")
	d.dieConfirming(t, "change committed", a.ID, change)
	old := d.operationRows(t)[0].op
	d.sweepAll(t)
	b := d.create(t, "bob", "a@example.com")
	if err := d.finish(t.Context(), d.scope.Tenant, &old); err != nil {
		t.Fatal(err)
	}
	d.expectLookups(t, map[string]domain.AccountID{"a@example.com": b.ID, "b@example.com": a.ID})
	d.checkInvariants(t, true)
}
