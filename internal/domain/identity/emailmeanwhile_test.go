package identity

import (
	"context"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

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

// A helper has aborted and cleared the operation, and the same change is prepared
// anew: the first caller's commit doesn't pass for the second's. An account
// without an address has no old claim whose operation would tell them apart.
func TestConfirm_WhoseOperationWasReplacedByAnother_DoesNotPass(t *testing.T) {
	t.Parallel()
	for _, old := range []string{"", "old@example.com"} {
		d := newDirectory(t, Options{})
		a := d.create(t, "ada", old)
		change := d.mustBegin(t, a.ID, "new@example.com")
		slow := d.with(Options{Faults: &pauseAt{point: "change claimed", act: func() {
			d.expire(t)
			d.dieConfirming(t, "change prepared", a.ID, change)
		}}})
		expectCode(t, slow.confirm(t, a.ID, change, change.Code), domain.KindUnavailable, "operation_expired")
		if read, err := d.Get(t.Context(), d.scope, a.ID); err != nil || read.Email != a.Email || read.Revision != 1 {
			t.Errorf("the account is %+v, %v", read, err)
		}
		d.expire(t)
		d.sweepAll(t)
		d.checkInvariants(t, true)
	}
}

// A commit that has looked at its operation holds it until it is done: an abort
// that comes in between waits, and finds the operation committed.
func TestConfirm_InTheMidstOfItsCommit_HoldsOffAnAbort(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "old@example.com")
	change := d.mustBegin(t, a.ID, "new@example.com")
	r := d.remote(t, Options{})
	trap := r.network.HoldBefore(t, testkit.Statement("SET revision = $5, email = $6, email_key"))
	committing, withdrawing := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := r.ConfirmEmailChange(context.Background(), d.scope, a.ID, change.ID, change.Code)
		committing <- err
	}()
	<-trap.Met()
	op := d.operationRows(t)[0].op
	home, late := d.router.Database(op.record.Number), &aborting{op: &op}
	go func() { withdrawing <- d.abortAll(context.Background(), home, d.scope.Tenant, []*aborting{late}) }()
	d.awaitBlocked(t, home.Name)
	trap.Release()
	if err := <-committing; err != nil {
		t.Errorf("the commit: %v", err)
	}
	if err := <-withdrawing; err != nil || late.state == aborted {
		t.Errorf("the abort made it %q, %v", late.state, err)
	}
	d.expectLookups(t, map[string]domain.AccountID{"new@example.com": a.ID, "old@example.com": {}})
	d.checkInvariants(t, true)
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
