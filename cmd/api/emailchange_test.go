package main

import (
	"strings"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// emailOf is an account's address, and "" for none.
func emailOf(t *testing.T, client *holdfast.ClientWithResponses, id string) string {
	t.Helper()
	got, err := client.GetAccountWithResponse(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if got.JSON200.Email == nil {
		return ""
	}
	return *got.JSON200.Email
}

func create(t *testing.T, client *holdfast.ClientWithResponses, handle, email string) (string, error) {
	t.Helper()
	made, err := client.CreateAccountWithResponse(t.Context(), nil, holdfast.NewAccount{Handle: handle, Email: &email, EmailVerified: ptr(true)})
	if err != nil {
		return "", err
	}
	return made.JSON201.ID, nil
}

// I6, I7 and I8, as an application meets them.
func TestEmailChange_TheOldAddressHoldsUntilTheNewOneIsConfirmed(t *testing.T) {
	t.Parallel()
	s := newStack(t, 3)
	r := s.serve(t)
	client := connect(t, r, s.tenant(t, r, "acme").key)
	ctx := t.Context()
	ada, err := create(t, client, "ada", "a@example.com")
	if err != nil {
		t.Fatal(err)
	}
	begin := func(email string) holdfast.EmailChange {
		t.Helper()
		begun, err := client.BeginEmailChangeWithResponse(ctx, ada, nil, holdfast.NewEmailChange{Email: email})
		if err != nil {
			t.Fatal(err)
		}
		return *begun.JSON201
	}
	confirm := func(c holdfast.EmailChange) error {
		_, err := client.ConfirmEmailChangeWithResponse(ctx, ada, c.ID, holdfast.EmailCode{Code: c.Code})
		return err
	}

	first, second := begin("x@example.com"), begin("b@example.com")
	if err := confirm(first); !holdfast.IsCode(err, "email_change_not_found") {
		t.Errorf("the change that was replaced: %v", err)
	}
	if _, err := create(t, client, "xavier", "x@example.com"); err != nil {
		t.Errorf("the address of the change that was replaced: %v", err)
	}
	pending, err := client.GetEmailChangeWithResponse(ctx, ada)
	if err != nil {
		t.Fatal(err)
	}
	if c := pending.JSON200; c.ID != second.ID || c.Email != "b@example.com" || !c.ExpiresAt.Equal(second.ExpiresAt) || strings.Contains(string(pending.Body), second.Code) {
		t.Errorf("pending is %s", pending.Body)
	}
	wrong := second
	wrong.Code = "00000000"
	if err := confirm(wrong); !holdfast.IsCode(err, "email_code_wrong") || pointerOf(err) != "/code" {
		t.Errorf("a wrong code: %v", err)
	}
	if got := emailOf(t, client, ada); got != "a@example.com" {
		t.Errorf("while the change is pending the email is %q", got)
	}
	if err := confirm(second); err != nil {
		t.Fatal(err)
	}
	if _, err := client.GetEmailChangeWithResponse(ctx, ada); !holdfast.IsCode(err, "no_email_change") {
		t.Errorf("confirmed, it is pending still: %v", err)
	}
	if got := emailOf(t, client, ada); got != "b@example.com" {
		t.Errorf("confirmed, the email is %q", got)
	}
	if _, err := create(t, client, "bob", "b@example.com"); !holdfast.IsCode(err, "email_taken") {
		t.Errorf("another takes the new address: %v", err)
	}
	if _, err := create(t, client, "bob", "a@example.com"); err != nil {
		t.Errorf("another takes the old address: %v", err)
	}

	removed, err := client.RemoveEmailWithResponse(ctx, ada, nil)
	if err != nil || removed.JSON200.Email != nil || removed.Headers200.ETag != `"3"` {
		t.Errorf("removed: %s %v", removed.Body, err)
	}
	if _, err := create(t, client, "cy", "b@example.com"); err != nil {
		t.Errorf("another takes the removed address: %v", err)
	}
	kinds := []string{}
	events, err := client.ListAccountEventsWithResponse(ctx, ada, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events.JSON200.Events {
		kinds = append(kinds, e.Kind)
	}
	if got := len(kinds); got != 3 || kinds[0] != "account.created" || kinds[1] != "account.email_changed" || kinds[2] != "account.email_removed" {
		t.Errorf("events are %v", kinds)
	}
}
