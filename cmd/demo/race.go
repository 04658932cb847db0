package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/holdfast-dev/holdfast/clients/go"
)

const racers = 50

// raceForAnEmail lets 50 creations want one address at once.
func raceForAnEmail(ctx context.Context, s *stack, n *narrator) error {
	n.chapter("A race")
	errs := make([]error, racers)
	err := n.step("50 accounts want prize@example.com at once: one gets it, 49 are told of a conflict", func() error {
		var all sync.WaitGroup
		for i := range racers {
			all.Go(func() {
				_, errs[i] = s.acme.client.CreateAccountWithResponse(ctx, nil, newAccount(fmt.Sprintf("racer-%d", i), "prize@example.com"))
			})
		}
		all.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else if e := conflictOf(err); e == nil {
				return err
			}
		}
		return expect(won == 1, "%d won", won)
	})
	if err != nil {
		return err
	}
	err = n.step("every loser's handle is free at once: all 49 take theirs without an email", func() error {
		for i, err := range errs {
			if err == nil {
				continue
			}
			if _, err := s.acme.client.CreateAccountWithResponse(ctx, nil, newAccount(fmt.Sprintf("racer-%d", i), "")); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return n.step("the list has each of the 51 accounts once, over pages that cross both databases", func() error {
		return expectAccounts(ctx, s.acme, racers+1)
	})
}

// conflictOf is err as a 409 that names the email, or nil.
func conflictOf(err error) *holdfast.Error {
	var e *holdfast.Error
	if !errors.As(err, &e) || e.Status != http.StatusConflict || e.Errors == nil {
		return nil
	}
	for _, field := range *e.Errors {
		if field.Pointer == "/email" {
			return e
		}
	}
	return nil
}
