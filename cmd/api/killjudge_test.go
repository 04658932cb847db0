package main

import (
	"slices"
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// judge holds what all callers were told to what there is, when all was swept.
// left counts the operations that stood behind each kill.
func (s *storm) judge(t *testing.T, calls clients, callers []*caller, left int) {
	t.Helper()
	count := map[string]int{"operations found behind kills": left}
	var all []*attempt
	for _, c := range callers {
		count["to be settled"] += c.settleAll(t, calls)
		for _, a := range c.attempts {
			c.expectTrue(t, calls, a)
		}
		all = append(all, c.attempts...)
	}
	for _, a := range all {
		count[[]string{"untried", "unknown", "refused", "made"}[a.outcome]]++
		if a.gone {
			count["deleted"]++
		}
	}
	t.Logf("%d creations: %v", len(all), count)
	for _, what := range []string{"operations found behind kills", "to be settled", "unknown", "refused", "made", "deleted"} {
		if count[what] == 0 {
			t.Errorf("that was no storm: nothing %s", what)
		}
	}
	s.expectRowsAsTold(t, all)
	expectOneHolderAtATime(t, all)
}

// settleAll finds out all that was left open. Nothing is pending any more, so
// the first answer tells.
func (c *caller) settleAll(t *testing.T, calls clients) (settled int) {
	t.Helper()
	for _, a := range c.attempts {
		if !a.unsettled() {
			continue
		}
		settled++
		if err := c.settle(t, calls, a); a.unsettled() {
			t.Errorf("%s is not settled by a process that lives: %v", *a.request.DisplayName, err)
		}
	}
	return settled
}

// expectTrue drives what the caller knows of one account.
func (c *caller) expectTrue(t *testing.T, calls clients, a *attempt) {
	t.Helper()
	if a.outcome == made && a.key != "" {
		expectRepeatable(t, calls, a)
	}
	switch {
	case a.gone:
		if _, err := calls.keyed.GetAccountWithResponse(t.Context(), a.id); !holdfast.IsCode(err, "account_not_found") {
			t.Errorf("the deletion of %s was acknowledged, and reading it gives %v", a.request.Handle, err)
		}
		handle := holdfast.LookupKey{Handle: &a.request.Handle}
		if _, err := calls.keyed.LookupAccountWithResponse(t.Context(), handle); !holdfast.IsCode(err, "account_not_found") {
			t.Errorf("the deletion of %s was acknowledged, and looking it up gives %v", a.request.Handle, err)
		}
	case a.stays():
		keys := []holdfast.LookupKey{{Handle: &a.request.Handle}}
		if a.request.Email != nil {
			keys = append(keys, holdfast.LookupKey{Email: a.request.Email})
		}
		for _, key := range keys {
			answer, err := calls.keyed.LookupAccountWithResponse(t.Context(), key)
			if err != nil {
				t.Errorf("%s was acknowledged, and looking %s up gives %v", a.request.Handle, nameOf(key), err)
				continue
			}
			c.found(t, a, answer.JSON200)
		}
	}
}

// expectRepeatable says that the key still finds what it made.
func expectRepeatable(t *testing.T, calls clients, a *attempt) {
	t.Helper()
	again, err := calls.keyed.CreateAccountWithResponse(t.Context(), &holdfast.CreateAccountParams{IdempotencyKey: &a.key}, a.request)
	switch {
	case a.gone && !holdfast.IsCode(err, "account_deleted"):
		t.Errorf("the deletion of %s was acknowledged, and repeating its creation gives %v", a.request.Handle, err)
	case !a.gone && err != nil:
		t.Errorf("%s was acknowledged, and repeating its creation gives %v", a.request.Handle, err)
	case !a.gone && again.JSON201.ID != a.id:
		t.Errorf("%s was acknowledged as %s, and repeating its creation gives %s", a.request.Handle, a.id, again.JSON201.ID)
	}
}

// expectRowsAsTold: what was refused, or deleted, left no account; no attempt
// left two; and a handle that somebody was refused has a holder, since a handle
// is not given back in these times.
func (s *storm) expectRowsAsTold(t *testing.T, all []*attempt) {
	t.Helper()
	attempts := map[string]*attempt{}
	for _, a := range all {
		attempts[*a.request.DisplayName] = a
	}
	for _, name := range words(t, s.directory, `SELECT display_name FROM accounts WHERE status <> 'deleted'`) {
		a := attempts[name]
		if a == nil {
			t.Errorf("%s left two accounts", name)
		} else if a.outcome == refused || a.gone {
			t.Errorf("%s is there, and its caller was told that it isn't (deleted: %v)", name, a.gone)
		}
		delete(attempts, name)
	}
	handles := words(t, s.directory, `SELECT handle_key FROM accounts`)
	for handle := range s.taken {
		if !slices.Contains(handles, handle) {
			t.Errorf("%s was called taken, and nobody holds it", handle)
		}
	}
}

// expectOneHolderAtATime compares when each account held its keys for sure: from
// the acknowledgment of its creation until its deletion was asked for, which
// frees an email and not a handle.
func expectOneHolderAtATime(t *testing.T, all []*attempt) {
	t.Helper()
	held := map[string][]*attempt{}
	for _, a := range all {
		if a.outcome != made {
			continue
		}
		for _, other := range held[a.request.Handle] {
			t.Errorf("%s was given to %s and to %s", a.request.Handle, a.id, other.id)
		}
		held[a.request.Handle] = append(held[a.request.Handle], a)
		if a.request.Email == nil {
			continue
		}
		for _, other := range held[*a.request.Email] {
			if a.since.Before(other.until()) && other.since.Before(a.until()) {
				t.Errorf("%s was held by %s and by %s at once", *a.request.Email, a.id, other.id)
			}
		}
		held[*a.request.Email] = append(held[*a.request.Email], a)
	}
}

// until is how long the account held its email for sure.
func (a *attempt) until() time.Time {
	if a.leaving.IsZero() {
		return time.Now()
	}
	return a.leaving
}
