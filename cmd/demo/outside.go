package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"

	"github.com/holdfast-dev/holdfast/clients/go"
)

// lookFromOutside shows that another tenant sees none of it.
func lookFromOutside(ctx context.Context, s *stack, n *narrator) error {
	n.chapter("The other tenant")
	theirs, nobodys := s.ada, "01935d2c-7b54-7c8e-9d0a-3b6f1c2d4e5f"
	outside := s.globex.client
	return n.steps([]step{
		{"globex lists no account", func() error { return expectAccounts(ctx, s.globex, 0) }},
		{"an id of acme's and an id of nobody's are one answer to it", func() error {
			_, first := outside.GetAccountWithResponse(ctx, theirs)
			_, second := outside.GetAccountWithResponse(ctx, nobodys)
			if err := errors.Join(expectCode(first, http.StatusNotFound, "account_not_found"), expectCode(second, http.StatusNotFound, "account_not_found")); err != nil {
				return err
			}
			return expect(sameProblem(first, second), "they differ: %v, %v", first, second)
		}},
		{"a handle of acme's is free in globex", func() error {
			_, err := outside.CreateAccountWithResponse(ctx, nil, newAccount("ada", "ada@bücher.example"))
			return err
		}},
		{"and in acme it still leads to acme's Ada", func() error { return expectFound(ctx, s.acme.client, "ada", "", theirs) }},
		{"a tenant's token opens no operator's door", func() error {
			_, err := outside.ListTenantsWithResponse(ctx, nil)
			return expectCode(err, http.StatusForbidden, "insufficient_scope")
		}},
	})
}

func sameProblem(a, b error) bool {
	var first, second *holdfast.Error
	if !errors.As(a, &first) || !errors.As(b, &second) {
		return false
	}
	return first.Status == second.Status && first.Code == second.Code && bytes.Equal([]byte(first.Detail), []byte(second.Detail))
}

// stopServing ends both servers as a roll would.
func stopServing(_ context.Context, s *stack, n *narrator) error {
	n.chapter("The end")
	api, worker := s.api, s.worker
	s.api, s.worker = nil, nil
	return n.step("the API and the worker finish what they do and stop", func() error {
		return errors.Join(api.Stop(), worker.Stop())
	})
}
