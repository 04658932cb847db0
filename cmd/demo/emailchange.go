package main

import (
	"context"
	"errors"
	"net/http"

	"github.com/holdfast-dev/holdfast/clients/go"
)

// changeAnEmail moves an account from one address to another. The demonstration
// is the tenant's application here, and the mail that it would send.
func changeAnEmail(ctx context.Context, s *stack, n *narrator) error {
	n.chapter("An email change")
	client := s.acme.client
	const before, after = "ada@bücher.example", "ada@lovelace.example"
	var change holdfast.EmailChange
	confirm := func(code string) (*holdfast.ConfirmEmailChangeResponse, error) {
		return client.ConfirmEmailChangeWithResponse(ctx, s.ada, change.ID, holdfast.EmailCode{Code: code})
	}
	if err := n.step("Ada wants another address: the answer has a code, for acme to send to it", func() error {
		begun, err := client.BeginEmailChangeWithResponse(ctx, s.ada, nil, holdfast.NewEmailChange{Email: after})
		if err != nil {
			return err
		}
		change = *begun.JSON201
		return nil
	}); err != nil {
		return err
	}
	n.note("to %s: your code is %s", change.Email, change.Code)
	return n.steps([]step{
		{"until she types it she keeps the old address, and the new one is nobody's", func() error {
			return errors.Join(expectFound(ctx, client, "", before, s.ada), expectFree(ctx, client, after))
		}},
		{"a wrong code is refused, and changes nothing", func() error {
			_, err := confirm(wrongCode(change.Code))
			return errors.Join(expectCode(err, http.StatusUnprocessableEntity, "email_code_wrong"), expectFound(ctx, client, "", before, s.ada))
		}},
		{"the right one makes the new address hers, at revision 3", func() error {
			confirmed, err := confirm(change.Code)
			if err != nil {
				return err
			}
			if err := expect(confirmed.Headers200.ETag == `"3"`, "ETag %s", confirmed.Headers200.ETag); err != nil {
				return err
			}
			return expectFound(ctx, client, "", after, s.ada)
		}},
		{"the old address is free at once: it becomes Bob's", func() error {
			bob, err := client.CreateAccountWithResponse(ctx, nil, newAccount("bob", before))
			if err != nil {
				return err
			}
			s.bob = bob.JSON201.ID
			return expectFound(ctx, client, "", before, s.bob)
		}},
		{"the code was good once", func() error {
			_, err := confirm(change.Code)
			return expectCode(err, http.StatusNotFound, "email_change_not_found")
		}},
	})
}

// wrongCode differs from the right one in its first digit.
func wrongCode(right string) string {
	if right[0] == '0' {
		return "1" + right[1:]
	}
	return "0" + right[1:]
}

// expectFree says that the email leads to nobody.
func expectFree(ctx context.Context, client *holdfast.ClientWithResponses, email string) error {
	_, err := client.LookupAccountWithResponse(ctx, holdfast.LookupKey{Email: &email})
	return expectCode(err, http.StatusNotFound, "account_not_found")
}
