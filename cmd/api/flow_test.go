package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/oapi-codegen/nullable"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func ptr[T any](v T) *T { return &v }

var timeless = cmp.Options{
	cmpopts.IgnoreFields(holdfast.Account{}, "CreatedAt", "UpdatedAt", "EmailVerifiedAt"),
	cmpopts.IgnoreFields(holdfast.EmailChange{}, "ID", "ExpiresAt"),
}

func TestAccount_LivesFromCreationToDeletion(t *testing.T) {
	t.Parallel()
	s := newStack(t, 3)
	r := s.serve(t)
	client := connect(t, r, s.tenant(t, r, "acme").key)
	ctx := t.Context()

	made, err := client.CreateAccountWithResponse(ctx, nil, holdfast.NewAccount{
		Handle: "Ada", Email: ptr("Ada@Example.com"), EmailVerified: ptr(true),
		DisplayName: ptr("Ada Lovelace"), Attributes: json.RawMessage(`{"n":12345678901234567890.50,"a":{"b":1}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	id := made.JSON201.ID
	want := holdfast.Account{
		ID: id, Revision: 1, Status: "active", Handle: "Ada", Email: ptr("Ada@Example.com"),
		DisplayName: ptr("Ada Lovelace"), Attributes: json.RawMessage(`{"n":12345678901234567890.50,"a":{"b":1}}`),
	}
	check := func(where string, got *holdfast.Account, etag string) {
		t.Helper()
		if diff := cmp.Diff(&want, got, timeless); diff != "" {
			t.Errorf("%s (-want +got):\n%s", where, diff)
		}
		if etag != `"`+string(rune('0'+want.Revision))+`"` {
			t.Errorf("%s: ETag is %s at revision %d", where, etag, want.Revision)
		}
	}
	got, err := client.GetAccountWithResponse(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	check("get", got.JSON200, got.Headers200.ETag)

	patched, err := client.PatchAccountWithResponse(ctx, id, &holdfast.PatchAccountParams{IfMatch: &got.Headers200.ETag}, holdfast.AccountPatch{
		DisplayName: nullable.NewNullNullable[string](), Status: ptr(holdfast.AccountPatchStatusDisabled), Attributes: json.RawMessage(`{"a":{"b":null,"c":[]}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	want.Revision, want.Status, want.DisplayName = 2, "disabled", nil
	want.Attributes = json.RawMessage(`{"a":{"c":[]},"n":12345678901234567890.50}`)
	check("patch", patched.JSON200, patched.Headers200.ETag)

	// I9: one key, whatever its letter case.
	for _, key := range []holdfast.LookupKey{{Handle: ptr("ADA")}, {Email: ptr("aDA@exAMPLE.com")}} {
		found, err := client.LookupAccountWithResponse(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		check("lookup", found.JSON200, found.Headers200.ETag)
	}
	batch, err := client.BatchGetAccountsWithResponse(ctx, holdfast.BatchGet{Ids: []string{"01930000-0000-7000-8000-000000000000", id}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]holdfast.BatchResult{{ID: "01930000-0000-7000-8000-000000000000"}, {ID: id, Account: &want}}, batch.JSON200.Results, timeless); diff != "" {
		t.Errorf("batch-get (-want +got):\n%s", diff)
	}

	if _, err := client.DeleteAccountWithResponse(ctx, id, &holdfast.DeleteAccountParams{IfMatch: &got.Headers200.ETag}); !holdfast.IsCode(err, "revision_stale") {
		t.Errorf("a deletion from a stale revision: %v", err)
	}
	if _, err := client.DeleteAccountWithResponse(ctx, id, &holdfast.DeleteAccountParams{IfMatch: &patched.Headers200.ETag}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.GetAccountWithResponse(ctx, id); !holdfast.IsCode(err, "account_not_found") {
		t.Errorf("a deleted account: %v", err)
	}
}

func TestUnverifiedEmail_BeginsAPendingChangeAndIsNotClaimed(t *testing.T) {
	t.Parallel()
	s := newStack(t, 3)
	r := s.serve(t)
	client := connect(t, r, s.tenant(t, r, "acme").key)
	for _, handle := range []string{"ada", "bob"} { // nobody squats on an address
		made, err := client.CreateAccountWithResponse(t.Context(), nil, holdfast.NewAccount{Handle: handle, Email: ptr("a@b.de")})
		if err != nil {
			t.Fatal(err)
		}
		change := made.JSON201.EmailChange
		if change == nil || len(change.Code) != 8 || made.JSON201.Email != nil {
			t.Errorf("%s: %s", handle, made.Body)
		}
	}
	if _, err := client.LookupAccountWithResponse(t.Context(), holdfast.LookupKey{Email: ptr("a@b.de")}); !holdfast.IsCode(err, "account_not_found") {
		t.Errorf("an unverified address resolves: %v", err)
	}
}

func TestList_EveryAccountOnceInPages(t *testing.T) {
	t.Parallel()
	s := newStack(t, 3)
	r := s.serve(t)
	client := connect(t, r, s.tenant(t, r, "acme").key)
	want := map[string]int{}
	for i := range 23 {
		made, err := client.CreateAccountWithResponse(t.Context(), nil, holdfast.NewAccount{Handle: "user-" + string(rune('a'+i))})
		if err != nil {
			t.Fatal(err)
		}
		want[made.JSON201.ID] = 1
	}
	got := map[string]int{}
	params := holdfast.ListAccountsParams{Limit: ptr(int64(5))}
	for pages := 0; ; pages++ {
		page, err := client.ListAccountsWithResponse(t.Context(), &params)
		if err != nil {
			t.Fatal(err)
		}
		for _, account := range page.JSON200.Accounts {
			got[account.ID]++
		}
		if params.Cursor = page.JSON200.NextCursor; params.Cursor == nil {
			break
		}
		if pages > 23 {
			t.Fatal("the list doesn't end")
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("accounts (-want +got):\n%s", diff)
	}
}
