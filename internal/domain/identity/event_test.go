package identity

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Every operation on an account leaves one event for each revision that it made,
// and what made none leaves none.
func TestEvents_OfEveryOperation(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	name, email, disabled := "Ada", "ada@example.com", Disabled
	req := CreateAccount{Handle: "ada", Email: &email, EmailVerified: true, DisplayName: &name, Attributes: json.RawMessage(`{"n":1}`), IdempotencyKey: "k"}
	created, err := d.Create(t.Context(), d.scope, req)
	if err != nil {
		t.Fatal(err)
	}
	id := created.Account.ID
	if _, err := d.Create(t.Context(), d.scope, req); err != nil { // a replay
		t.Fatal(err)
	}
	if _, err := d.Patch(t.Context(), d.scope, id, 1, AccountPatch{Status: &disabled, Attributes: json.RawMessage(`{"n":null}`)}); err != nil {
		t.Fatal(err)
	}
	_, err = d.Patch(t.Context(), d.scope, id, 1, AccountPatch{Status: &disabled})
	expectCode(t, err, domain.KindPreconditionFailed, "revision_stale")
	begun, err := d.BeginEmailChange(t.Context(), d.scope, id, BeginEmailChange{Email: "in.vain@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.ConfirmEmailChange(t.Context(), d.scope, id, begun.ID, "in vain")
	expectCode(t, err, domain.KindInvalid, "email_code_wrong")
	if err := d.CancelEmailChange(t.Context(), d.scope, id, begun.ID); err != nil {
		t.Fatal(err)
	}
	d.changeEmail(t, id, "other@example.com")
	d.changeEmail(t, id, "Other@example.com")
	other := d.with(Options{})
	other.scope.Principal = domain.NewID[domain.PrincipalKind](time.Now())
	for range 2 { // the second finds none
		if _, err := other.RemoveEmail(t.Context(), other.scope, id, nil); err != nil {
			t.Fatal(err)
		}
	}
	d.changeEmail(t, id, "last@example.com")
	for range 2 { // the second finds a tombstone
		if err := d.Delete(t.Context(), d.scope, id, 6); err != nil {
			t.Fatal(err)
		}
	}
	d.expectState(t, state{
		Accounts: []string{"ada - deleted rev 7"},
		Claims:   []string{"handle ada of ada"},
		Events: []string{
			"ada 1 account.created by principal [handle email display_name attributes]",
			"ada 2 account.changed by principal [attributes status]",
			"ada 3 account.email_changed by principal [email]",
			"ada 4 account.email_changed by principal [email]",
			"ada 5 account.email_removed by another principal [email]",
			"ada 6 account.email_changed by principal [email]",
			"ada 7 account.deleted by principal [handle email display_name]",
		},
	})
	d.checkInvariants(t, true)
}

func TestEvents_BearTheTimeOfTheirRevision(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "")
	revisions := []Account{a, d.mustRename(t, a, "Ada"), d.changeEmail(t, a.ID, "ada@example.com"), d.changeEmail(t, a.ID, "Ada@example.com")}
	removed, err := d.RemoveEmail(t.Context(), d.scope, a.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	page, err := d.AccountEvents(t.Context(), d.scope, a.ID, 0, 10)
	if err != nil || len(page.Events) != 5 {
		t.Fatalf("got %+v, %v", page, err)
	}
	for i, a := range append(revisions, removed) {
		if e := page.Events[i]; e.Revision != a.Revision || !e.At.Equal(a.UpdatedAt) {
			t.Errorf("event %d is of revision %d, %v; the account was of %d, %v", i, e.Revision, e.At, a.Revision, a.UpdatedAt)
		}
	}
}

// An event is in the transaction of its change: a commit that doesn't happen
// leaves neither, and one whose answer is lost leaves both.
func TestEvents_OfACommitThatFailed_AreNotThere(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	disabled := Disabled
	kept := d.create(t, "kept", "kept@example.com")
	moving := d.create(t, "moving", "moving@example.com")
	begun, err := d.BeginEmailChange(t.Context(), d.scope, moving.ID, BeginEmailChange{Email: "moved@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	operations := map[string]func(*Service) error{
		"create": func(s *Service) error {
			_, err := s.Create(t.Context(), d.scope, CreateAccount{Handle: "new"})
			return err
		},
		"patch": func(s *Service) error {
			_, err := s.Patch(t.Context(), d.scope, kept.ID, 1, AccountPatch{Status: &disabled})
			return err
		},
		"confirm": func(s *Service) error {
			_, err := s.ConfirmEmailChange(t.Context(), d.scope, moving.ID, begun.ID, begun.Code)
			return err
		},
		"remove": func(s *Service) error { _, err := s.RemoveEmail(t.Context(), d.scope, kept.ID, nil); return err },
		"delete": func(s *Service) error { return s.Delete(t.Context(), d.scope, kept.ID, 1) },
	}
	for name, operate := range operations {
		before := d.state(t)
		r := d.remote(t, Options{})
		r.network.CutBefore(t, eventsCommit)
		if err := operate(r.Service); domain.KindOf(err) != domain.KindOutcomeUnknown {
			t.Errorf("%s: got %v, want an unknown outcome", name, err)
		}
		r.die()
		d.expire(t)
		d.sweepAll(t)
		d.checkInvariants(t, true)
		d.expectState(t, before)
	}
	r := d.remote(t, Options{})
	r.network.CutAfter(t, eventsCommit)
	if err := operations["patch"](r.Service); domain.KindOf(err) != domain.KindOutcomeUnknown {
		t.Errorf("got %v, want an unknown outcome", err)
	}
	if n := len(d.history(t, kept.ID, 0, 10)); n != 2 {
		t.Errorf("%d events are there, want that of the commit too", n)
	}
	d.checkInvariants(t, true)
}
