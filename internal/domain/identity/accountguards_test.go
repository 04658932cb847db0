package identity

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// As those on a device, the decisions on an account are made under its lock, and
// their statements hold themselves to what was decided all the same.
func TestAccountStatements_HoldThemselvesToWhatWasDecided(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	now, token := time.Now(), domain.RandomID[domain.TokenKind]()
	statements := map[string]struct {
		sql  string
		args []any // behind the revisions
	}{
		"patch":        {sqlPatchAccount, []any{"active", nil, "{}", now}},
		"delete":       {sqlEntomb, []any{now, now}},
		"verify again": {sqlVerifyEmail, []any{"x@example.com", now}},
		"change email": {sqlChangeEmail, []any{"x@example.com", "x@example.com", token, now}},
		"remove email": {sqlRemoveEmail, []any{now}},
	}
	// A tombstone as it would be if all but its revision had been decided otherwise.
	entomb := func(id domain.AccountID) {
		d.everywhere(t, `UPDATE accounts SET status = 'deleted', deleted_at = now(), quarantined_until = now(),
			email = NULL, email_key = NULL, email_token = NULL, email_verified_at = NULL WHERE account_id = $1`, id)
	}
	i := 0
	for name, statement := range statements {
		for how, act := range map[string]func(domain.AccountID){
			"another revision": func(id domain.AccountID) {
				d.everywhere(t, `UPDATE accounts SET revision = revision + 1 WHERE account_id = $1`, id)
			},
			"a tombstone": entomb,
			"":            func(domain.AccountID) {},
		} {
			a := d.create(t, numbered("ada-%d", i), numbered("ada-%d@example.com", i))
			i++
			act(a.ID)
			rows := d.attempt(t, accountRef(a.ID), statement.sql, append([]any{int64(1), int64(2)}, statement.args...)...)
			if (rows == 0) != (how != "") {
				t.Errorf("%s: %s: matched %d rows", name, how, rows)
			}
		}
	}
}

// A decision whose statement wrote nothing is stopped by the demand behind it, and
// all of it is rolled back: here one kind of write after the other is swallowed.
func TestAccountDecision_ThatWroteNothing_IsStopped(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, first := d.create(t, "ada", "old@example.com"), d.create(t, "eve", "")
	device := d.authorize(t, d.client(), "tv")
	change, firstChange := d.mustBegin(t, ada.ID, "new@example.com"), d.mustBegin(t, first.ID, "first@example.com")
	ben := d.create(t, "ben", "ben@example.com")
	anew := d.mustBegin(t, ben.ID, "Ben@example.com")
	calls := map[string]func() error{
		"create": func() error {
			_, err := d.Create(t.Context(), d.scope, CreateAccount{Handle: "new", IdempotencyKey: "k"})
			return err
		},
		"patch": func() error {
			_, err := d.Patch(t.Context(), d.scope, ada.ID, 1, AccountPatch{DisplayName: new(new("Ada"))})
			return err
		},
		"delete":                       func() error { return d.Delete(t.Context(), d.scope, ada.ID, 1) },
		"remove email":                 func() error { _, err := d.RemoveEmail(t.Context(), d.scope, ada.ID, nil); return err },
		"confirm":                      func() error { return d.confirm(t, ada.ID, change, change.Code) },
		"confirm a first address":      func() error { return d.confirm(t, first.ID, firstChange, firstChange.Code) },
		"confirm the address in force": func() error { return d.confirm(t, ben.ID, anew, anew.Code) },
		"remove a device": func() error {
			_, err := d.removeDevice(t.Context(), d.scope.Tenant, deviceRef(device.ID), func(*deviceRow) bool { return true })
			return err
		},
	}
	before := d.state(t)
	for _, lost := range []struct {
		verb, table string
		calls       []string
	}{
		{"INSERT", "accounts", []string{"create"}},
		{"UPDATE", "accounts", []string{"patch", "delete", "remove email", "confirm", "confirm a first address", "confirm the address in force"}},
		{"INSERT", "operations", []string{"delete", "remove email", "confirm", "confirm a first address"}},
		{"UPDATE", "operations", []string{"confirm"}},
		{"DELETE", "operations", []string{"create", "confirm a first address"}},
		{"DELETE", "devices", []string{"remove a device"}},
	} {
		for _, name := range lost.calls {
			d.swallow(t, lost.verb, lost.table)
			err := calls[name]()
			if err == nil || domain.KindOf(err) != domain.KindInternal {
				t.Errorf("%s, without its %s of %s: %v, want it stopped", name, lost.verb, lost.table, err)
			}
			d.swallowNoMore(t)
			d.expire(t) // what a call that was stopped could not call off
			d.sweepAll(t)
			if diff := cmp.Diff(before, d.state(t)); diff != "" {
				t.Fatalf("%s, without its %s of %s (-before +after):\n%s", name, lost.verb, lost.table, diff)
			}
		}
	}
	d.checkInvariants(t, true)
}

// A caller that goes away doesn't leave a decision that is still written to: it is
// made, and answered.
func TestPatch_WhoseCallerGoesAway_IsMadeAndAnswered(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada := d.create(t, "ada", "")
	r := d.remote(t, Options{})
	trap := r.network.HoldBefore(t, testkit.Statement("UPDATE accounts SET revision = $5, status = $6"))
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := r.Patch(ctx, d.scope, ada.ID, 1, AccountPatch{DisplayName: new(new("Ada"))})
		done <- err
	}()
	<-trap.Met()
	leave()
	d.expectLookups(t, map[string]domain.AccountID{"nobody@example.com": {}}) // meanwhile
	early := len(done) > 0
	trap.Release()
	if err := <-done; early || err != nil {
		t.Errorf("answered %v, before it was made: %v", err, early)
	}
}
