package main

import (
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// read finds out the revision of an account of the caller's that stays.
func (c *caller) read(t *testing.T, calls clients, a *attempt) error {
	answer, err := calls.keyed.GetAccountWithResponse(t.Context(), a.id)
	if err == nil {
		c.found(t, a, answer.JSON200)
	} else if !unanswered(err) && !mayRetry(err) {
		t.Errorf("%s was acknowledged, and reading it gives %v", a.request.Handle, err)
	}
	return err
}

// lookUpOwn looks up an account of the caller's that stays, by one of its keys.
func (c *caller) lookUpOwn(t *testing.T, calls clients, a *attempt) error {
	key := holdfast.LookupKey{Handle: &a.request.Handle}
	if a.request.Email != nil && c.rng.IntN(2) == 0 {
		key = holdfast.LookupKey{Email: a.request.Email}
	}
	answer, err := calls.keyed.LookupAccountWithResponse(t.Context(), key)
	if err == nil {
		c.found(t, a, answer.JSON200)
	} else if !unanswered(err) && !mayRetry(err) {
		t.Errorf("%s was acknowledged, and looking up its %s gives %v", a.request.Handle, nameOf(key), err)
	}
	return err
}

// found holds what was read of an account to what was acknowledged.
func (c *caller) found(t *testing.T, a *attempt, got *holdfast.Account) {
	if got.ID != a.id || got.Revision != a.revision && !(a.changing && got.Revision == a.revision+1) {
		t.Errorf("%s was acknowledged as %s at revision %d (changing: %v), and it leads to %s at %d",
			a.request.Handle, a.id, a.revision, a.changing, got.ID, got.Revision)
	}
	a.revision, a.changing = got.Revision, false
}

// lookUp looks up whoever holds a key: an account that says so itself, and that
// was not deleted before.
func (c *caller) lookUp(t *testing.T, calls clients, key holdfast.LookupKey) error {
	began := time.Now()
	answer, err := calls.keyed.LookupAccountWithResponse(t.Context(), key)
	switch {
	case err == nil:
		got := answer.JSON200
		if key.Handle != nil && got.Handle != *key.Handle || key.Email != nil && (got.Email == nil || *got.Email != *key.Email) {
			t.Errorf("%s leads to %+v", nameOf(key), got)
		}
		if c.storm.deletedBefore(got.ID, began) {
			t.Errorf("%s leads to %s, which was deleted", nameOf(key), got.ID)
		}
	case !unanswered(err) && !mayRetry(err) && !holdfast.IsCode(err, "account_not_found"):
		t.Errorf("look %s up: %v", nameOf(key), err)
	}
	return err
}

// anyKey is an email, or one of the handles that are wanted these days.
func (c *caller) anyKey() holdfast.LookupKey {
	if c.rng.IntN(2) == 0 {
		return holdfast.LookupKey{Email: ptr(stormEmail(c.rng))}
	}
	return holdfast.LookupKey{Handle: ptr(stormHandle(max(0, c.storm.requests.Load()-c.rng.Int64N(40))))}
}

func nameOf(key holdfast.LookupKey) string {
	if key.Handle != nil {
		return *key.Handle
	}
	return *key.Email
}
