package identity

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// race runs n creations at once and returns their outcomes.
func race(d *directory, n int, request func(i int) (handle, email string)) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			handle, email := request(i)
			_, errs[i] = d.tryCreate(context.Background(), handle, email)
		})
	}
	all.Wait()
	return errs
}

// winners counts those without an error. The others must be conflicts.
func winners(t *testing.T, errs []error) (won int) {
	t.Helper()
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case domain.KindOf(err) != domain.KindConflict:
			t.Errorf("got %v, want a conflict", err)
		}
	}
	return won
}

func TestEmailRace_OneWinner_LosersHandlesFree(t *testing.T) {
	t.Parallel()
	emailRace(t, newDirectory(t, Options{}))
}

func emailRace(t *testing.T, d *directory) {
	errs := race(d, 50, func(i int) (string, string) { return numbered("racer-%d", i), "prize@example.com" })
	if won := winners(t, errs); won != 1 {
		t.Fatalf("%d creations won, want 1", won)
	}
	d.checkInvariants(t, true)
	for i, err := range errs {
		if err == nil {
			continue
		}
		var e *domain.Error
		if !errors.As(err, &e) || len(e.Fields) != 1 || e.Fields[0].Pointer != "/email" {
			t.Errorf("the conflict %v does not name the email and nothing else", err)
		}
		d.create(t, numbered("racer-%d", i), "")
	}
	d.checkInvariants(t, true)
}

func TestHandleRace_InThreeLetterCases_OneWinner(t *testing.T) {
	t.Parallel()
	handleRace(t, newDirectory(t, Options{}))
}

func handleRace(t *testing.T, d *directory) {
	cases := []string{"Ada", "ADA", "ada"}
	if won := winners(t, race(d, 3, func(i int) (string, string) { return cases[i], "" })); won != 1 {
		t.Fatalf("%d creations won, want 1", won)
	}
	d.expectState(t, state{
		Accounts: []string{"ada - active rev 1"},
		Claims:   []string{"handle ada of ada"},
		Events:   []string{"ada 1 account.created by principal [handle]"},
	})
}

func TestCreate_ThenFoundByEverySpellingOfItsKeys(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "Ada.Lovelace", "Ada@BÜCHER.example")
	d.expectState(t, state{
		Accounts: []string{"ada.lovelace ada@xn--bcher-kva.example active rev 1"},
		Claims:   []string{"email ada@xn--bcher-kva.example of ada.lovelace", "handle ada.lovelace of ada.lovelace"},
		Events:   []string{"ada.lovelace 1 account.created by principal [handle email]"},
	})
	for _, handle := range []string{"ada.lovelace", "ADA.LOVELACE"} {
		if found, err := d.LookupHandle(t.Context(), d.scope, handle); err != nil || found.ID != a.ID {
			t.Errorf("handle %s leads to %v, %v", handle, found.ID, err)
		}
	}
	for _, email := range []string{"ada@bücher.example", "ADA@xn--bcher-kva.example"} {
		if found, err := d.LookupEmail(t.Context(), d.scope, email); err != nil || found.ID != a.ID {
			t.Errorf("email %s leads to %v, %v", email, found.ID, err)
		}
	}
	_, err := d.tryCreate(t.Context(), "another", "ada@xn--bcher-kva.example")
	expectCode(t, err, domain.KindConflict, "email_taken")
	_, err = d.LookupHandle(t.Context(), d.scope, "another")
	expectCode(t, err, domain.KindNotFound, "account_not_found")
	d.checkInvariants(t, true)
}

func TestCreate_SaysWhatIsTaken(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	d.create(t, "ada", "ada@example.com")
	d.create(t, "grace", "grace@example.com")

	_, err := d.tryCreate(t.Context(), "Ada", "grace@example.com")
	expectCode(t, err, domain.KindConflict, "handle_taken")
	var pointers []string
	if e, ok := err.(*domain.Error); ok {
		for _, f := range e.Fields {
			pointers = append(pointers, f.Pointer+" "+f.Code)
		}
	}
	if len(pointers) != 2 || pointers[0] != "/handle handle_taken" || pointers[1] != "/email email_taken" {
		t.Errorf("the conflict names %v, want both keys", pointers)
	}
	d.checkInvariants(t, true)
}

func TestCreate_UnderUnicode_LookAlikesConflict(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	d.scope = d.newTenant(t, "unicode")
	d.create(t, "paypal", "")
	_, err := d.tryCreate(t.Context(), "раураl", "") // Cyrillic and a Latin l
	if domain.KindOf(err) != domain.KindInvalid {
		t.Errorf("mixed scripts: %v, want invalid", err)
	}
	_, err = d.tryCreate(t.Context(), "раура1", "") // Cyrillic, and the digit one for l
	expectCode(t, err, domain.KindConflict, "handle_taken")
	d.checkInvariants(t, true)
}

func TestCreate_Unverified_ClaimsNothingAndBeginsAChange(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	email := "ada@example.com"
	req := CreateAccount{Handle: "ada", Email: &email, IdempotencyKey: "k"}
	first, err := d.Create(t.Context(), d.scope, req)
	if err != nil {
		t.Fatal(err)
	}
	if first.EmailChange == nil || len(first.EmailChange.Code) != 8 || !first.Account.Email.IsZero() {
		t.Fatalf("got %+v, want a pending change and no email", first)
	}
	again, err := d.Create(t.Context(), d.scope, req)
	if err != nil {
		t.Fatal(err)
	}
	if !again.Replayed || again.EmailChange == nil || again.EmailChange.Code != first.EmailChange.Code {
		t.Errorf("the retry got %+v, want the same code", again.EmailChange)
	}
	d.create(t, "squatted", email) // an unverified address is nobody's
	d.expectState(t, state{
		Accounts:     []string{"ada - active rev 1", "squatted ada@example.com active rev 1"},
		EmailChanges: []string{"ada to ada@example.com, 0 wrong codes"},
		Claims:       []string{"email ada@example.com of squatted", "handle ada of ada", "handle squatted of squatted"},
		Events:       []string{"ada 1 account.created by principal [handle]", "squatted 1 account.created by principal [handle email]"},
	})
}
