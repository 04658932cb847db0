package identity

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// confirm is what a test expects to be refused.
func (d *directory) confirm(t testing.TB, account domain.AccountID, change EmailChange, code string) error {
	t.Helper()
	_, err := d.ConfirmEmailChange(t.Context(), d.scope, account, change.ID, code)
	return err
}

// expireEmailChanges brings the end of every pending change into the past.
func (d *directory) expireEmailChanges(t testing.TB) {
	t.Helper()
	d.everywhere(t, `UPDATE email_changes SET expires_at = expires_at - interval '31 minutes', created_at = created_at - interval '31 minutes'`)
}

var compareAccounts = cmp.Options{cmp.AllowUnexported(Handle{}, Email{}), cmp.Comparer(time.Time.Equal)}

func TestEmailChange_MovesTheAccount_AndFreesTheOldAddressAtOnce(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "a@example.com")
	changed := d.changeEmail(t, a.ID, "B@Example.com")
	read, err := d.Get(t.Context(), d.scope, a.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(read, changed, compareAccounts); diff != "" {
		t.Errorf("the answer is not the account (-account +answer):\n%s", diff)
	}
	if changed.Email.String() != "B@Example.com" || changed.Revision != 2 || !changed.EmailVerifiedAt.After(*a.EmailVerifiedAt) {
		t.Errorf("the account is %+v", changed)
	}
	d.create(t, "bob", "a@example.com")
	_, err = d.tryCreate(t.Context(), "eve", "b@example.com")
	expectCode(t, err, domain.KindConflict, "email_taken")
	d.expectState(t, state{
		Accounts: []string{"ada b@example.com active rev 2", "bob a@example.com active rev 1"},
		Claims:   []string{"email a@example.com of bob", "email b@example.com of ada", "handle ada of ada", "handle bob of bob"},
		Events: []string{
			"ada 1 account.created by principal [handle email]",
			"ada 2 account.email_changed by principal [email]",
			"bob 1 account.created by principal [handle email]",
		},
	})
	d.checkInvariants(t, true)
}

func TestEmailChange_OfAnAccountWithoutOne_IsItsFirstAddress(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	email := "ada@example.com"
	created, err := d.Create(t.Context(), d.scope, CreateAccount{Handle: "ada", Email: &email})
	if err != nil {
		t.Fatal(err)
	}
	changed, err := d.ConfirmEmailChange(t.Context(), d.scope, created.Account.ID, created.EmailChange.ID, created.EmailChange.Code)
	if err != nil || changed.Email.Key() != email || changed.Revision != 2 {
		t.Errorf("got %+v, %v", changed, err)
	}
	if found, err := d.LookupEmail(t.Context(), d.scope, email); err != nil || found.ID != changed.ID {
		t.Errorf("the address leads to %v, %v", found.ID, err)
	}
	d.expectState(t, state{
		Accounts: []string{"ada ada@example.com active rev 2"},
		Claims:   []string{"email ada@example.com of ada", "handle ada of ada"},
		Events:   []string{"ada 1 account.created by principal [handle]", "ada 2 account.email_changed by principal [email]"},
	})
	d.checkInvariants(t, true)
}

func TestEmailChange_ToTheSameAddress_VerifiesItAnewInItsNewSpelling(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "ada@example.com")
	claims := d.claimRows(t)
	changed := d.changeEmail(t, a.ID, "Ada@Example.com")
	if changed.Email.String() != "Ada@Example.com" || !changed.EmailVerifiedAt.After(*a.EmailVerifiedAt) {
		t.Errorf("the account is %+v", changed)
	}
	if diff := cmp.Diff(claims, d.claimRows(t), cmp.AllowUnexported(storedClaim{}, claim{})); diff != "" {
		t.Errorf("the claims (-before +after):\n%s", diff)
	}
	d.expectState(t, state{
		Accounts: []string{"ada ada@example.com active rev 2"},
		Claims:   []string{"email ada@example.com of ada", "handle ada of ada"},
		Events:   []string{"ada 1 account.created by principal [handle email]", "ada 2 account.email_changed by principal [email]"},
	})
	d.checkInvariants(t, true)
}

// A pending change claims nothing, and shows nowhere: the old address stays in
// force, verified, and the revision is as it was.
func TestEmailChange_WhilePending_ChangesNothingThatAnybodySees(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "old@example.com")
	change := d.mustBegin(t, a.ID, "new@example.com")
	read, err := d.Get(t.Context(), d.scope, a.ID)
	if diff := cmp.Diff(a, read, compareAccounts); err != nil || diff != "" {
		t.Errorf("%v; the account (-before +now):\n%s", err, diff)
	}
	if found, err := d.LookupEmail(t.Context(), d.scope, "old@example.com"); err != nil || found.ID != a.ID {
		t.Errorf("the address in force leads to %v, %v", found.ID, err)
	}
	_, err = d.LookupEmail(t.Context(), d.scope, "new@example.com")
	expectCode(t, err, domain.KindNotFound, "account_not_found")

	d.create(t, "bob", "new@example.com") // nobody squats on it
	err = d.confirm(t, a.ID, change, change.Code)
	expectCode(t, err, domain.KindConflict, "email_taken")
	if e, ok := err.(*domain.Error); !ok || len(e.Fields) > 0 {
		t.Errorf("%v points into a request that has no email", err)
	}
	d.expectState(t, state{
		Accounts:     []string{"ada old@example.com active rev 1", "bob new@example.com active rev 1"},
		EmailChanges: []string{"ada to new@example.com, 0 wrong codes"},
		Claims:       []string{"email new@example.com of bob", "email old@example.com of ada", "handle ada of ada", "handle bob of bob"},
		Events:       []string{"ada 1 account.created by principal [handle email]", "bob 1 account.created by principal [handle email]"},
	})
	if err := d.Delete(t.Context(), d.scope, d.mustLookup(t, "new@example.com").ID, 1); err != nil {
		t.Fatal(err)
	}
	if err := d.confirm(t, a.ID, change, change.Code); err != nil {
		t.Errorf("once the address is free, with the same code: %v", err)
	}
	d.checkInvariants(t, true)
}

func (d *directory) mustLookup(t testing.TB, email string) Account {
	t.Helper()
	a, err := d.LookupEmail(t.Context(), d.scope, email)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestEmailChange_ThatIsReplaced_IsDead(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "old@example.com")
	x := d.mustBegin(t, a.ID, "x@example.com")
	expectCode(t, d.confirm(t, a.ID, x, "wrong"), domain.KindInvalid, "email_code_wrong")
	y := d.mustBegin(t, a.ID, "y@example.com")
	if got := d.state(t).EmailChanges; len(got) != 1 || got[0] != "ada to y@example.com, 0 wrong codes" {
		t.Errorf("the pending changes are %v", got)
	}
	expectCode(t, d.confirm(t, a.ID, x, x.Code), domain.KindNotFound, "email_change_not_found")
	expectCode(t, d.confirm(t, a.ID, y, x.Code), domain.KindInvalid, "email_code_wrong")
	d.create(t, "bob", "x@example.com")
	if err := d.confirm(t, a.ID, y, y.Code[:4]+" - "+y.Code[4:]); err != nil { // as people type
		t.Error(err)
	}
	expectCode(t, d.confirm(t, a.ID, y, y.Code), domain.KindNotFound, "email_change_not_found") // confirmed
	d.expectState(t, state{
		Accounts: []string{"ada y@example.com active rev 2", "bob x@example.com active rev 1"},
		Claims:   []string{"email x@example.com of bob", "email y@example.com of ada", "handle ada of ada", "handle bob of bob"},
		Events: []string{
			"ada 1 account.created by principal [handle email]",
			"ada 2 account.email_changed by principal [email]",
			"bob 1 account.created by principal [handle email]",
		},
	})
	d.checkInvariants(t, true)
}

// One and the same answer for a change that never was, that was cancelled, that
// has expired, that ended by wrong codes, and that is another account's.
func TestEmailChange_ThatIsNotPending_IsNotFound(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a, b := d.create(t, "ada", "old@example.com"), d.create(t, "bob", "bob@example.com")
	before := d.state(t)
	ends := map[string]func(EmailChange){
		"cancelled": func(c EmailChange) {
			if err := d.CancelEmailChange(t.Context(), d.scope, a.ID, c.ID); err != nil {
				t.Error(err)
			}
		},
		"expired": func(EmailChange) { d.expireEmailChanges(t) },
		"guessed at": func(c EmailChange) {
			for range maxWrongCodes {
				expectCode(t, d.confirm(t, a.ID, c, "0000000"), domain.KindInvalid, "email_code_wrong")
			}
		},
	}
	for how, end := range ends {
		change := d.mustBegin(t, a.ID, "new@example.com")
		expectCode(t, d.confirm(t, b.ID, change, change.Code), domain.KindNotFound, "email_change_not_found")
		expectCode(t, d.CancelEmailChange(t.Context(), d.scope, b.ID, change.ID), domain.KindNotFound, "email_change_not_found")
		end(change)
		confirmed, cancelled := d.confirm(t, a.ID, change, change.Code), d.CancelEmailChange(t.Context(), d.scope, a.ID, change.ID)
		if diff := cmp.Diff([]error{errNoEmailChange, errNoEmailChange}, []error{confirmed, cancelled}, cmp.AllowUnexported(domain.Error{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", how, diff)
		}
		d.everywhere(t, `DELETE FROM email_changes WHERE expires_at < clock_timestamp()`) // as cleanup does
		d.expectState(t, before)
	}
}

func TestWrongCodes_AreCountedWhateverElseStandsInTheWay(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "old@example.com")
	change := d.mustBegin(t, a.ID, "new@example.com")
	dying := d.with(Options{Faults: &crashAt{point: "change claimed", nth: 1}})
	if err := dying.confirm(t, a.ID, change, change.Code); !stopped(err) {
		t.Fatal(err)
	}
	for range maxWrongCodes - 1 {
		expectCode(t, d.confirm(t, a.ID, change, "wrong"), domain.KindInvalid, "email_code_wrong")
	}
	if got := d.state(t).EmailChanges; len(got) != 1 || got[0] != "ada to new@example.com, 4 wrong codes" {
		t.Errorf("the change is %v", got)
	}
	d.expire(t)
	d.sweepAll(t)
	expectCode(t, d.confirm(t, a.ID, change, "wrong"), domain.KindInvalid, "email_code_wrong")
	expectCode(t, d.confirm(t, a.ID, change, change.Code), domain.KindNotFound, "email_change_not_found")
	d.checkInvariants(t, true)
}

func TestRemoveEmail_FreesTheAddress_AndKeepsAPendingChange(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "old@example.com")
	change := d.mustBegin(t, a.ID, "new@example.com")
	stale, now := int64(7), int64(1)
	_, err := d.RemoveEmail(t.Context(), d.scope, a.ID, &stale)
	expectCode(t, err, domain.KindPreconditionFailed, "revision_stale")
	removed, err := d.RemoveEmail(t.Context(), d.scope, a.ID, &now)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // an account without an address is answered as it is
		read, err := d.RemoveEmail(t.Context(), d.scope, a.ID, &stale)
		if diff := cmp.Diff(removed, read, compareAccounts); err != nil || diff != "" {
			t.Errorf("%v; (-first answer +next):\n%s", err, diff)
		}
	}
	if !removed.Email.IsZero() || removed.EmailVerifiedAt != nil || removed.Revision != 2 {
		t.Errorf("the account is %+v", removed)
	}
	d.create(t, "bob", "old@example.com")
	d.expectState(t, state{
		Accounts:     []string{"ada - active rev 2", "bob old@example.com active rev 1"},
		EmailChanges: []string{"ada to new@example.com, 0 wrong codes"},
		Claims:       []string{"email old@example.com of bob", "handle ada of ada", "handle bob of bob"},
		Events: []string{
			"ada 1 account.created by principal [handle email]",
			"ada 2 account.email_removed by principal [email]",
			"bob 1 account.created by principal [handle email]",
		},
	})
	if err := d.confirm(t, a.ID, change, change.Code); err != nil {
		t.Error(err)
	}
	d.checkInvariants(t, true)
}
