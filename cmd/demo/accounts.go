package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/oapi-codegen/nullable"

	"github.com/holdfast-dev/holdfast/clients/go"
)

func newAccount(handle, email string) holdfast.NewAccount {
	a := holdfast.NewAccount{Handle: handle}
	if email != "" {
		verified := true
		a.Email, a.EmailVerified = &email, &verified
	}
	return a
}

// makeAccounts shows the plain life of an account.
func makeAccounts(ctx context.Context, s *stack, n *narrator) error {
	n.chapter("Accounts")
	client := s.acme.client
	key := "sign-up-of-ada"
	params := &holdfast.CreateAccountParams{IdempotencyKey: &key}
	asked := newAccount("Ada", "Ada@Bücher.example")
	return n.steps([]step{
		{"Ada is created with a handle and a verified email", func() error {
			created, err := client.CreateAccountWithResponse(ctx, params, asked)
			if err != nil {
				return err
			}
			s.ada = created.JSON201.ID
			return nil
		}},
		{"the same request again, with its key, is answered from the account it made", func() error {
			again, err := client.CreateAccountWithResponse(ctx, params, asked)
			if err != nil {
				return err
			}
			return expect(again.JSON201.ID == s.ada && again.HTTPResponse.Header.Get("Idempotent-Replayed") == "true", "another account")
		}},
		{"another request with that key is refused", func() error {
			_, err := client.CreateAccountWithResponse(ctx, params, newAccount("Eve", ""))
			return expectCode(err, http.StatusUnprocessableEntity, "idempotency_key_reused")
		}},
		{"she is found by her handle in another letter case", func() error { return expectFound(ctx, client, "aDA", "", s.ada) }},
		{"and by her email with its domain in the other spelling", func() error { return expectFound(ctx, client, "", "ada@xn--bcher-kva.example", s.ada) }},
		{"her display name is changed, from revision 1 to 2", func() error { return rename(ctx, client, s.ada, `"1"`) }},
		{"a second change from revision 1 is stale, and changes nothing", func() error {
			return expectCode(rename(ctx, client, s.ada, `"1"`), http.StatusPreconditionFailed, "revision_stale")
		}},
		{"a handle that is an email address is refused", func() error {
			_, err := client.CreateAccountWithResponse(ctx, nil, newAccount("ada@example.com", ""))
			return expectCode(err, http.StatusUnprocessableEntity, "handle_invalid")
		}},
	})
}

func rename(ctx context.Context, client *holdfast.ClientWithResponses, id holdfast.ID, etag string) error {
	patched, err := client.PatchAccountWithResponse(ctx, id, &holdfast.PatchAccountParams{IfMatch: &etag},
		holdfast.AccountPatch{DisplayName: nullable.NewNullableWithValue("Ada Lovelace")})
	if err != nil {
		return err
	}
	return expect(patched.HTTPResponse.Header.Get("ETag") == `"2"`, "ETag %s", patched.HTTPResponse.Header.Get("ETag"))
}

func expectFound(ctx context.Context, client *holdfast.ClientWithResponses, handle, email string, id holdfast.ID) error {
	var key holdfast.LookupKey
	if handle != "" {
		key.Handle = &handle
	}
	if email != "" {
		key.Email = &email
	}
	found, err := client.LookupAccountWithResponse(ctx, key)
	if err != nil {
		return err
	}
	return expect(found.JSON200.ID == id, "it leads to %s and not to %s", found.JSON200.ID, id)
}

func expectAccounts(ctx context.Context, t *tenant, want int) error {
	accounts, err := allAccounts(ctx, t)
	if err != nil {
		return err
	}
	return expect(len(accounts) == want, "%d accounts are listed, want %d", len(accounts), want)
}

func allAccounts(ctx context.Context, t *tenant) (accounts []holdfast.Account, err error) {
	limit := holdfast.Limit(50)
	params := &holdfast.ListAccountsParams{Limit: &limit}
	for {
		page, err := t.client.ListAccountsWithResponse(ctx, params)
		if err != nil {
			return nil, err
		}
		accounts = append(accounts, page.JSON200.Accounts...)
		if page.JSON200.NextCursor == nil {
			return accounts, nil
		}
		params.Cursor = page.JSON200.NextCursor
	}
}

func expect(right bool, format string, args ...any) error {
	if right {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// expectCode says that a call must have been refused so.
func expectCode(err error, status int, code string) error {
	if err == nil {
		return fmt.Errorf("it was allowed, want %s", code)
	}
	if !holdfast.IsCode(err, code) {
		return err
	}
	var e *holdfast.Error
	errors.As(err, &e)
	return expect(e.Status == status, "status %d, want %d", e.Status, status)
}
