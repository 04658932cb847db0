package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/clients/go"
)

// interruptACreation kills the API between claim and commit. It holds the
// commit up as a slow disk would, with a lock on the accounts, so that the
// moment is certain; the kill is a real one.
func interruptACreation(ctx context.Context, s *stack, n *narrator) error {
	n.chapter("An interruption")
	ghost := newAccount("ghost", "contested@example.com")
	if err := n.step("the API is killed while it makes an account: its keys are claimed, nothing is committed", func() error {
		return s.killWhileCreating(ctx, ghost)
	}); err != nil {
		return err
	}
	if err := n.step("the API serves again", func() error { return s.startAPI(ctx) }); err != nil {
		return err
	}
	client := s.acme.client
	var pending *holdfast.Error
	steps := []struct {
		what string
		do   func() error
	}{
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

const (
	// Readers and the claims go on; who inserts an account waits.
	sqlHoldAccounts = `LOCK TABLE accounts IN SHARE ROW EXCLUSIVE MODE`
	sqlAsTenant     = `SELECT set_config('holdfast.tenant', $1, true)`
	sqlCountClaims  = `SELECT count(*) FROM claims WHERE key IN ($1, $2)`
)

func (s *stack) killWhileCreating(ctx context.Context, account holdfast.NewAccount) error {
	databases, err := ownerConnections(ctx)
	if err != nil {
		return err
	}
	var held []pgx.Tx
	defer func() {
		for _, tx := range held {
			tx.Rollback(context.WithoutCancel(ctx))
			tx.Conn().Close(context.WithoutCancel(ctx))
		}
	}()
	for _, db := range databases {
		tx, err := db.Begin(ctx)
		if err != nil {
			return err
		}
		held = append(held, tx)
		if _, err := tx.Exec(ctx, sqlHoldAccounts); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlAsTenant, s.acme.id); err != nil {
			return err
		}
	}
	answered := make(chan error, 1)
	go func() {
		_, err := s.acme.client.CreateAccountWithResponse(ctx, nil, account)
		answered <- err
	}()
	if err := awaitClaims(ctx, held, account, answered); err != nil {
		return err
	}
	s.api.Kill()
	if err := <-answered; err == nil {
		return errors.New("the creation was answered by a process that was dead")
	}
	return nil
}

// awaitClaims waits until both keys of the account are claimed.
func awaitClaims(ctx context.Context, databases []pgx.Tx, account holdfast.NewAccount, answered <-chan error) error {
	for patience := time.Now().Add(2 * time.Second); time.Now().Before(patience); {
		claims := 0
		for _, tx := range databases {
			var n int
			if err := tx.QueryRow(ctx, sqlCountClaims, account.Handle, *account.Email).Scan(&n); err != nil {
				return err
			}
			claims += n
		}
		if claims == 2 {
			return nil
		}
		select {
		case err := <-answered:
			return fmt.Errorf("the creation was answered too soon: %v", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	return errors.New("the keys were not claimed")
}

// ownerConnections connect to every data database, as the role that owns it.
func ownerConnections(ctx context.Context) ([]*pgx.Conn, error) {
	var connections []*pgx.Conn
	for _, entry := range strings.Fields(os.Getenv("HOLDFAST_DATA_URLS")) {
		_, url, _ := strings.Cut(entry, "=")
		config, err := pgx.ParseConfig(url)
		if err != nil {
			return nil, errors.New("HOLDFAST_DATA_URLS can't be read")
		}
		config.User, config.Password = "holdfast_owner", os.Getenv("HOLDFAST_OWNER_PASSWORD")
		conn, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			return nil, err
		}
		connections = append(connections, conn)
	}
	return connections, nil
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
