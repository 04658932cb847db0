package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/clients/go"
)

// interruptACreation kills the API between claim and commit. It holds the
// databases up with locks, as a slow disk would, so that the moment is certain;
// the kill is a real one.
func interruptACreation(ctx context.Context, s *stack, n *narrator) error {
	n.chapter("An interruption")
	ghost := newAccount("ghost", "haunted@example.com") // its keys lie on two databases, so its steps are apart
	if err := n.step("the API is killed in a creation: the keys are claimed, nothing is committed", func() error {
		return s.killWhileCreating(ctx, ghost)
	}); err != nil {
		return err
	}
	if err := n.step("the API serves again", func() error { return s.startAPI(ctx) }); err != nil {
		return err
	}
	client := s.acme.client
	var pending *holdfast.Error
	steps := []step{
		{"the half-made account is found by neither key", func() error {
			handle, email := ghost.Handle, *ghost.Email
			_, byHandle := client.LookupAccountWithResponse(ctx, holdfast.LookupKey{Handle: &handle})
			_, byEmail := client.LookupAccountWithResponse(ctx, holdfast.LookupKey{Email: &email})
			return errors.Join(expectCode(byHandle, http.StatusNotFound, "account_not_found"),
				expectCode(byEmail, http.StatusNotFound, "account_not_found"))
		}},
		{"somebody else who wants the email now is told at once when to try again", func() error {
			_, err := client.CreateAccountWithResponse(ctx, nil, newAccount("heir", *ghost.Email))
			if errors.As(err, &pending) && pending.RetryAfter == 0 {
				return errors.New("without a Retry-After")
			}
			return expectCode(err, http.StatusConflict, "claim_pending")
		}},
		{"after the deadline the worker's sweep calls it off, with nobody asking", func() error { return s.awaitSweep(ctx) }},
		{"now the email is the heir's", func() error {
			_, err := client.CreateAccountWithResponse(ctx, nil, newAccount("heir", *ghost.Email))
			return err
		}},
		{"and the handle is anybody's", func() error {
			_, err := client.CreateAccountWithResponse(ctx, nil, newAccount(ghost.Handle, ""))
			return err
		}},
	}
	for _, step := range steps {
		if err := n.step(step.what, step.do); err != nil {
			return err
		}
		if pending != nil {
			n.note("Retry-After: %v", pending.RetryAfter)
			pending = nil
		}
	}
	return nil
}

// killWhileCreating kills the API when an account's keys are claimed and its
// commit has begun. Claims are held up until the prepared operation is seen and
// its row is held, which the commit needs first of all.
func (s *stack) killWhileCreating(ctx context.Context, account holdfast.NewAccount) error {
	claims, err := holdClaims(ctx, s.acme.id)
	if err != nil {
		return err
	}
	defer claims.release(ctx)
	answered := make(chan error, 1)
	go func() {
		_, err := s.acme.client.CreateAccountWithResponse(ctx, nil, account)
		answered <- err
	}()
	operation, err := holdOperation(ctx, s.acme.id)
	if err != nil {
		return err
	}
	defer operation.release(ctx)
	claims.release(ctx)
	if err := operation.awaitClaims(ctx, account); err != nil {
		return err
	}
	s.api.Kill()
	if err := <-answered; err == nil {
		return errors.New("the creation was answered by a process that was dead")
	}
	return nil
}

// awaitSweep waits until nothing of the tenant is unfinished.
func (s *stack) awaitSweep(ctx context.Context) error {
	for patience := time.Now().Add(30 * time.Second); time.Now().Before(patience); {
		recovery, err := s.acme.client.GetRecoveryWithResponse(ctx)
		if err != nil {
			return err
		}
		if recovery.JSON200.Pending == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return errors.New("the sweep did not come")
}
