package identity

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// codesOf counts the codes of errors: "" for none, and the whole text of what has
// no code.
func codesOf(errs []error) map[string]int {
	counted := map[string]int{}
	for _, err := range errs {
		switch {
		case err != nil && domain.KindOf(err) == domain.KindInternal:
			counted[err.Error()]++
		default:
			counted[domain.CodeOf(err)]++
		}
	}
	return counted
}

// atOnce does something n times at once.
func atOnce(n int, do func(i int) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = do(i) })
	}
	all.Wait()
	return errs
}

func (d *directory) mustBegin(t testing.TB, account domain.AccountID, email string) EmailChange {
	t.Helper()
	begun, err := d.BeginEmailChange(t.Context(), d.scope, account, BeginEmailChange{Email: email})
	if err != nil {
		t.Fatal(err)
	}
	return begun.EmailChange
}

func TestConfirm_ManyAtOnce_OneWinsAndTheOthersAreToldToRetryOrThatItIsDone(t *testing.T) {
	t.Parallel()
	confirmRace(t, newDirectory(t, Options{}))
}

func confirmRace(t *testing.T, d *directory) {
	a := d.create(t, "ada", "old@example.com")
	change := d.mustBegin(t, a.ID, "new@example.com")
	errs := atOnce(20, func(int) error {
		_, err := d.ConfirmEmailChange(context.Background(), d.scope, a.ID, change.ID, change.Code)
		return err
	})
	counted := codesOf(errs)
	if counted[""] != 1 || counted[""]+counted["change_pending"]+counted["email_change_not_found"] != len(errs) {
		t.Errorf("the answers were %v", counted)
	}
	d.expectState(t, state{
		Accounts: []string{"ada new@example.com active rev 2"},
		Claims:   []string{"email new@example.com of ada", "handle ada of ada"},
		Events:   []string{"ada 1 account.created by principal [handle email]", "ada 2 account.email_changed by principal [email]"},
	})
	d.checkInvariants(t, true)
}

func TestConfirmRemoveAndDelete_AtOnce_EachIsDoneOrToldToRetry(t *testing.T) {
	t.Parallel()
	changeRace(t, newDirectory(t, Options{}))
}

func changeRace(t *testing.T, d *directory) {
	for i := range 12 {
		a := d.create(t, numbered("p-%d", i), numbered("old-%d@example.com", i))
		change := d.mustBegin(t, a.ID, numbered("new-%d@example.com", i))
		operations := []func() error{
			func() error {
				_, err := d.ConfirmEmailChange(context.Background(), d.scope, a.ID, change.ID, change.Code)
				return err
			},
			func() error { _, err := d.RemoveEmail(context.Background(), d.scope, a.ID, nil); return err },
			func() error { return d.Delete(context.Background(), d.scope, a.ID, 1) },
		}
		errs := atOnce(9, func(i int) error { return operations[i%3]() })
		counted := codesOf(errs)
		for _, code := range []string{"", "change_pending", "change_stale", "email_change_not_found", "account_not_found", "revision_stale"} {
			delete(counted, code)
		}
		if len(counted) > 0 {
			t.Errorf("some were answered %v", counted)
		}
	}
	d.checkInvariants(t, true)
}

func TestWrongCodes_ManyAtOnce_EndTheChangeAfterFive(t *testing.T) {
	t.Parallel()
	wrongCodeRace(t, newDirectory(t, Options{}))
}

func wrongCodeRace(t *testing.T, d *directory) {
	a := d.create(t, "ada", "old@example.com")
	change := d.mustBegin(t, a.ID, "new@example.com")
	errs := atOnce(50, func(int) error {
		_, err := d.ConfirmEmailChange(context.Background(), d.scope, a.ID, change.ID, "wrong")
		return err
	})
	want := map[string]int{"email_code_wrong": maxWrongCodes, "email_change_not_found": len(errs) - maxWrongCodes}
	if diff := cmp.Diff(want, codesOf(errs)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	_, err := d.ConfirmEmailChange(t.Context(), d.scope, a.ID, change.ID, change.Code)
	expectCode(t, err, domain.KindNotFound, "email_change_not_found")
	d.expectState(t, state{
		Accounts: []string{"ada old@example.com active rev 1"},
		Claims:   []string{"email old@example.com of ada", "handle ada of ada"},
		Events:   []string{"ada 1 account.created by principal [handle email]"},
	})
}
