package identity

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func TestPendingEmailChange_IsTheOneThatCanBeConfirmed(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "old@example.com")
	none := func(why string) {
		t.Helper()
		if c, err := d.PendingEmailChange(t.Context(), d.scope, a.ID); err != errNoPendingChange {
			t.Errorf("%s: %+v, %v", why, c, err)
		}
	}
	pending := func(of EmailChange) {
		t.Helper()
		got, err := d.PendingEmailChange(t.Context(), d.scope, a.ID)
		want := PendingEmailChange{ID: of.ID, Email: of.Email, CreatedAt: of.ExpiresAt.Add(-emailChangeTerm), ExpiresAt: of.ExpiresAt}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Email{}), cmp.Comparer(time.Time.Equal)); err != nil || diff != "" {
			t.Errorf("%v; pending is (-want +got):\n%s", err, diff)
		}
	}

	none("before any")
	first := d.mustBegin(t, a.ID, "Not-This-One@example.com")
	pending(first)
	second := d.mustBegin(t, a.ID, "New@Example.com")
	pending(second)
	expectCode(t, d.confirm(t, a.ID, second, "wrong"), domain.KindInvalid, "email_code_wrong")
	pending(second)
	if err := d.confirm(t, a.ID, second, second.Code); err != nil {
		t.Fatal(err)
	}
	none("confirmed")

	third := d.mustBegin(t, a.ID, "next@example.com")
	if err := d.CancelEmailChange(t.Context(), d.scope, a.ID, third.ID); err != nil {
		t.Fatal(err)
	}
	none("called off")
	d.mustBegin(t, a.ID, "late@example.com")
	d.expireEmailChanges(t)
	none("expired")
}

func TestPendingEmailChange_OfANewAccountIsTheAddressItCameWith(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	email := "ada@example.com"
	made, err := d.Create(t.Context(), d.scope, CreateAccount{Handle: "ada", Email: &email})
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.PendingEmailChange(t.Context(), d.scope, made.Account.ID)
	if err != nil || got.ID != made.EmailChange.ID || got.Email.String() != email {
		t.Errorf("pending is %+v, %v", got, err)
	}
}

func TestPendingEmailChange_OfNobodysAnothersAndDeletedAccounts_IsNotTold(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a, gone := d.create(t, "ada", ""), d.create(t, "gone", "")
	d.mustBegin(t, a.ID, "ada@example.com")
	d.mustBegin(t, gone.ID, "gone@example.com")
	if err := d.Delete(t.Context(), d.scope, gone.ID, 1); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		scope   tenancy.Scope
		account domain.AccountID
	}{
		"nobody's":  {d.scope, domain.RandomID[domain.AccountKind]()},
		"another's": {d.newTenant(t, "ascii"), a.ID},
		"a deleted": {d.scope, gone.ID},
	} {
		if got, err := d.PendingEmailChange(t.Context(), c.scope, c.account); err != errNoAccount {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
