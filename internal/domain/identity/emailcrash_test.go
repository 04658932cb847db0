package identity

import (
	"context"
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

// The caller's commit succeeds, a helper finalizes first, and later revisions land
// before the caller goes on: it reports its own success.
func TestConfirmSucceeded_IsReportedThoughTheWorldWentOn(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "old@example.com")
	change := d.mustBegin(t, a.ID, "new@example.com")
	going := d.with(Options{Faults: &pauseAt{point: "change committed", act: func() {
		d.sweepAll(t)
		now := d.mustRename(t, d.mustLookup(t, "new@example.com"), "Ada")
		if err := d.Delete(t.Context(), d.scope, a.ID, now.Revision); err != nil {
			t.Error(err)
		}
	}}})
	changed, err := going.ConfirmEmailChange(t.Context(), d.scope, a.ID, change.ID, change.Code)
	if err != nil || changed.Revision != 2 || changed.Email.Key() != "new@example.com" || changed.DisplayName != nil {
		t.Errorf("got %+v, %v, want the caller's own success", changed, err)
	}
	d.expectState(t, state{
		Accounts: []string{"ada - deleted rev 4"},
		Claims:   []string{"handle ada of ada"},
		Events: []string{
			"ada 1 account.created by principal [handle email]",
			"ada 2 account.email_changed by principal [email]",
			"ada 3 account.changed by principal [display_name]",
			"ada 4 account.deleted by principal [handle email display_name]",
		},
	})
	d.checkInvariants(t, true)
}

// A caller that goes away doesn't leave its account half way.
func TestConfirm_WhoseCallerGoesAway_IsCompleted(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "old@example.com")
	change := d.mustBegin(t, a.ID, "new@example.com")
	ctx, cancel := context.WithCancel(t.Context())
	left := d.with(Options{Faults: &pauseAt{point: "change prepared", act: cancel}})
	if _, err := left.ConfirmEmailChange(ctx, d.scope, a.ID, change.ID, change.Code); err != nil {
		t.Error(err)
	}
	d.expectLookups(t, map[string]domain.AccountID{"new@example.com": a.ID, "old@example.com": {}})
	d.checkInvariants(t, true)
}

// An acknowledged update beside a prepared change is not undone: the change fails
// as stale, leaves nothing behind, and may be confirmed again.
func TestConfirm_OfAnAccountThatWasChangedMeanwhile_IsStale(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"change prepared", "change claimed"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			d := newDirectory(t, Options{})
			a := d.create(t, "ada", "old@example.com")
			change := d.mustBegin(t, a.ID, "new@example.com")
			disabled := Disabled
			slow := d.with(Options{Faults: &pauseAt{point: point, act: func() {
				if _, err := d.Patch(t.Context(), d.scope, a.ID, 1, AccountPatch{Status: &disabled}); err != nil {
					t.Error(err)
				}
			}}})
			err := slow.confirm(t, a.ID, change, change.Code)
			expectCode(t, err, domain.KindConflict, "change_stale")
			if e, ok := err.(*domain.Error); !ok || e.RetryAfter <= 0 {
				t.Errorf("%v is not said to be worth a retry", err)
			}
			d.expectState(t, state{
				Accounts:     []string{"ada old@example.com disabled rev 2"},
				EmailChanges: []string{"ada to new@example.com, 0 wrong codes"},
				Claims:       []string{"email old@example.com of ada", "handle ada of ada"},
				Events:       []string{"ada 1 account.created by principal [handle email]", "ada 2 account.changed by principal [status]"},
			})
			changed, err := d.ConfirmEmailChange(t.Context(), d.scope, a.ID, change.ID, change.Code)
			if err != nil || changed.Status != Disabled || changed.Revision != 3 {
				t.Errorf("confirmed again: %+v, %v", changed, err)
			}
			d.checkInvariants(t, true)
		})
	}
}

// Whatever ends a change while it is being confirmed is acknowledged, and so the
// change does not commit behind it.
func TestConfirm_OfAChangeThatEndedMeanwhile_IsNotFound(t *testing.T) {
	t.Parallel()
	req := BeginEmailChange{Email: "new@example.com", IdempotencyKey: "k"}
	again := BeginEmailChange{Email: "other@example.com", IdempotencyKey: "k"}
	ends := map[string]func(*testing.T, *directory, Account, EmailChange){
		"cancelled": func(t *testing.T, d *directory, a Account, c EmailChange) {
			if err := d.CancelEmailChange(t.Context(), d.scope, a.ID, c.ID); err != nil {
				t.Error(err)
			}
		},
		"replaced": func(t *testing.T, d *directory, a Account, _ EmailChange) { d.mustBegin(t, a.ID, "other@example.com") },
		"guessed at": func(t *testing.T, d *directory, a Account, c EmailChange) {
			for range maxWrongCodes {
				expectCode(t, d.confirm(t, a.ID, c, "wrong"), domain.KindInvalid, "email_code_wrong")
			}
		},
		"begun again under its key": func(t *testing.T, d *directory, a Account, c EmailChange) {
			if err := d.CancelEmailChange(t.Context(), d.scope, a.ID, c.ID); err != nil {
				t.Error(err)
			}
			begun, err := d.BeginEmailChange(t.Context(), d.scope, a.ID, again)
			if err != nil || begun.ID != c.ID {
				t.Errorf("begun %+v, %v", begun, err)
			}
		},
	}
	for how, end := range ends {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			d := newDirectory(t, Options{})
			a := d.create(t, "ada", "old@example.com")
			begun, err := d.BeginEmailChange(t.Context(), d.scope, a.ID, req)
			if err != nil {
				t.Fatal(err)
			}
			slow := d.with(Options{Faults: &pauseAt{point: "change claimed", act: func() { end(t, d, a, begun.EmailChange) }}})
			expectCode(t, slow.confirm(t, a.ID, begun.EmailChange, begun.Code), domain.KindNotFound, "email_change_not_found")
			d.expectLookups(t, map[string]domain.AccountID{"old@example.com": a.ID, "new@example.com": {}})
			d.create(t, "bob", "new@example.com")
			d.checkInvariants(t, true)
		})
	}
}

func TestConfirm_AfterAnAbortOrTheDeadline_DoesNotPass(t *testing.T) {
	t.Parallel()
	late := map[string]func(*testing.T, *directory){
		"overdue":           func(t *testing.T, d *directory) { d.expire(t) },
		"aborted":           func(t *testing.T, d *directory) { d.everywhere(t, `UPDATE operations SET state = 'aborted'`) },
		"aborted and swept": func(t *testing.T, d *directory) { d.expire(t); d.sweepAll(t) },
		"given to another": func(t *testing.T, d *directory) {
			d.expire(t)
			d.create(t, "bob", "new@example.com")
		},
	}
	for how, happens := range late {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			d := newDirectory(t, Options{})
			a := d.create(t, "ada", "old@example.com")
			change := d.mustBegin(t, a.ID, "new@example.com")
			slow := d.with(Options{Faults: &pauseAt{point: "change claimed", act: func() { happens(t, d) }}})
			expectCode(t, slow.confirm(t, a.ID, change, change.Code), domain.KindUnavailable, "operation_expired")
			if read, err := d.Get(t.Context(), d.scope, a.ID); err != nil || read.Email != a.Email || read.Revision != 1 {
				t.Errorf("the account is %+v, %v", read, err)
			}
			if got := d.state(t).EmailChanges; len(got) != 1 {
				t.Errorf("the pending changes are %v, want it still there", got)
			}
			d.checkInvariants(t, true)
		})
	}
}

func TestDelete_WhileAChangeIsPrepared(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a, first := d.create(t, "ada", "old@example.com"), d.create(t, "eve", "")
	change, firstChange := d.mustBegin(t, a.ID, "new@example.com"), d.mustBegin(t, first.ID, "first@example.com")
	d.dieConfirming(t, "change claimed", a.ID, change)
	expectCode(t, d.Delete(t.Context(), d.scope, a.ID, 1), domain.KindConflict, "change_pending")

	// One that has no address to release goes through, and the change fails.
	slow := d.with(Options{Faults: &pauseAt{point: "change claimed", act: func() {
		if err := d.Delete(t.Context(), d.scope, first.ID, 1); err != nil {
			t.Error(err)
		}
	}}})
	expectCode(t, slow.confirm(t, first.ID, firstChange, firstChange.Code), domain.KindNotFound, "account_not_found")

	d.expire(t)
	if err := d.Delete(t.Context(), d.scope, a.ID, 1); err != nil {
		t.Errorf("behind the deadline: %v", err)
	}
	d.expectState(t, state{
		Accounts: []string{"ada - deleted rev 2", "eve - deleted rev 2"},
		Claims:   []string{"handle ada of ada", "handle eve of eve"},
		Events: []string{
			"ada 1 account.created by principal [handle email]", "ada 2 account.deleted by principal [handle email]",
			"eve 1 account.created by principal [handle]", "eve 2 account.deleted by principal [handle]",
		},
	})
	d.checkInvariants(t, true)
}
