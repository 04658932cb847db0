package identity

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func TestBeginEmailChange_Refuses(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "old@example.com")
	for email, code := range map[string]string{"": "email_empty", "a@b": "email_invalid", "Ada <a@example.com>": "email_invalid"} {
		_, err := d.BeginEmailChange(t.Context(), d.scope, a.ID, BeginEmailChange{Email: email})
		expectCode(t, err, domain.KindInvalid, code)
		if e, ok := err.(*domain.Error); !ok || len(e.Fields) != 1 || e.Fields[0].Pointer != "/email" {
			t.Errorf("%v does not point at the email", err)
		}
	}
	if err := d.Delete(t.Context(), d.scope, a.ID, 1); err != nil {
		t.Fatal(err)
	}
	_, err := d.BeginEmailChange(t.Context(), d.scope, a.ID, BeginEmailChange{Email: "new@example.com"})
	expectCode(t, err, domain.KindNotFound, "account_not_found")
}

func TestBeginEmailChange_RepeatedWithItsKey_GetsTheSameChange(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "old@example.com")
	begin := func(scope tenancy.Scope, email string) (BegunEmailChange, error) {
		return d.BeginEmailChange(t.Context(), scope, a.ID, BeginEmailChange{Email: email, IdempotencyKey: "k"})
	}
	first, err := begin(d.scope, "x@example.com")
	if err != nil || first.Replayed {
		t.Fatalf("got %+v, %v", first, err)
	}
	expectCode(t, d.confirm(t, a.ID, first.EmailChange, "wrong"), domain.KindInvalid, "email_code_wrong")
	again, err := begin(d.scope, "x@example.com")
	want := first
	want.Replayed = true
	if diff := cmp.Diff(want, again, compareAccounts); err != nil || diff != "" {
		t.Errorf("%v; the repeated request (-want +got):\n%s", err, diff)
	}
	for _, another := range []string{"z@example.com", "X@example.com"} {
		_, err = begin(d.scope, another)
		expectCode(t, err, domain.KindInvalid, "idempotency_key_reused")
	}
	if got := d.state(t).EmailChanges; len(got) != 1 || got[0] != "ada to x@example.com, 1 wrong codes" {
		t.Errorf("the change is %v, want it with its wrong code", got)
	}
	elsewhere := d.scope
	elsewhere.Principal = domain.NewID[domain.PrincipalKind](time.Now())
	other, err := begin(elsewhere, "x@example.com") // another caller's key is another key
	if err != nil || other.Replayed || other.ID == first.ID {
		t.Errorf("another caller got %+v, %v", other, err)
	}
}

// A key that comes again when its change has ended begins the change anew. The
// code that was delivered before stays dead.
func TestBeginEmailChange_RepeatedWhenItsChangeHasEnded_GetsAnotherCode(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "old@example.com")
	req := BeginEmailChange{Email: "x@example.com", IdempotencyKey: "k"}
	ends := map[string]func(){
		"replaced": func() { d.mustBegin(t, a.ID, "y@example.com") },
		"expired":  func() { d.expireEmailChanges(t) },
	}
	for how, end := range ends {
		first, err := d.BeginEmailChange(t.Context(), d.scope, a.ID, req)
		if err != nil {
			t.Fatal(err)
		}
		end()
		again, err := d.BeginEmailChange(t.Context(), d.scope, a.ID, req)
		if err != nil || again.Replayed || again.Code == first.Code {
			t.Errorf("%s: got %+v, %v, want another code than %s", how, again, err, first.Code)
		}
		expectCode(t, d.confirm(t, a.ID, again.EmailChange, first.Code), domain.KindInvalid, "email_code_wrong")
		d.mustBegin(t, a.ID, "next@example.com")
	}
}
