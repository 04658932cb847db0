package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// caller does one thing after the other and remembers what it was told. Nobody
// else changes what it made.
type caller struct {
	storm    *storm
	rng      *rand.Rand
	attempts []*attempt
}

// attempt is one creation and what came of it.
type attempt struct {
	request  holdfast.NewAccount // under a display name of its own
	key      string              // "" for no Idempotency-Key
	outcome  outcome
	id       string
	revision int64     // as acknowledged
	since    time.Time // when it was acknowledged
	changing bool      // a change's answer was lost: it may be one revision further
	leaving  time.Time // when its deletion was first asked for; zero if never
	gone     bool      // that was acknowledged
}

type outcome int

const (
	untried outcome = iota
	unknown
	refused
	made
)

// stays tells whether the account is there for sure.
func (a *attempt) stays() bool { return a.outcome == made && a.leaving.IsZero() }

// unsettled tells whether there is more to find out.
func (a *attempt) unsettled() bool {
	return a.outcome == unknown && a.key != "" || a.changing || !a.leaving.IsZero() && !a.gone
}

// live acts until an answer stays away, and tells once it has begun to.
func (c *caller) live(t *testing.T, calls clients, begun func()) {
	for {
		err := c.act(t, calls)
		begun()
		if !unanswered(err) {
			continue
		}
		if !c.storm.dying.Load() {
			t.Errorf("a living process gave no answer: %v", err)
		}
		return
	}
}

func (c *caller) act(t *testing.T, calls clients) error {
	if a := c.any((*attempt).unsettled); a != nil && c.rng.IntN(2) == 0 {
		return c.settle(t, calls, a)
	}
	own := c.any((*attempt).stays)
	switch n := c.rng.IntN(20); {
	case own == nil || n < 11:
		return c.create(t, calls, c.newAttempt())
	case n < 14 && !own.changing:
		return c.change(t, calls, own)
	case n == 14 && !own.changing:
		return c.remove(t, calls, own)
	case n < 18:
		return c.lookUpOwn(t, calls, own)
	default:
		return c.lookUp(t, calls, c.anyKey())
	}
}

// any picks one of the attempts that are so, or gives nil.
func (c *caller) any(so func(*attempt) bool) (picked *attempt) {
	n := 0
	for _, a := range c.attempts {
		if so(a) {
			n++
			if c.rng.IntN(n) == 0 {
				picked = a
			}
		}
	}
	return picked
}

// newAttempt wants a handle that two other attempts want too, and often an email
// that all do.
func (c *caller) newAttempt() *attempt {
	n := c.storm.requests.Add(1)
	a := &attempt{request: holdfast.NewAccount{Handle: stormHandle(n), DisplayName: ptr(fmt.Sprintf("attempt %d", n))}}
	if c.rng.IntN(3) > 0 {
		a.request.Email, a.request.EmailVerified = ptr(stormEmail(c.rng)), ptr(true)
	}
	if c.rng.IntN(2) == 0 {
		a.key = fmt.Sprintf("key-%d", n)
	}
	c.attempts = append(c.attempts, a)
	return a
}

func stormHandle(request int64) string { return fmt.Sprintf("storm-%d", request/3) }
func stormEmail(rng *rand.Rand) string {
	return fmt.Sprintf("storm-%d@example.com", rng.IntN(stormEmails))
}

// settle finds more out.
func (c *caller) settle(t *testing.T, calls clients, a *attempt) error {
	switch {
	case a.outcome == unknown:
		return c.create(t, calls, a)
	case a.changing:
		return c.read(t, calls, a)
	default:
		return c.remove(t, calls, a)
	}
}

func (c *caller) create(t *testing.T, calls clients, a *attempt) error {
	client, params := calls.keyless, (*holdfast.CreateAccountParams)(nil)
	if a.key != "" {
		client, params = calls.keyed, &holdfast.CreateAccountParams{IdempotencyKey: &a.key}
	}
	answer, err := client.CreateAccountWithResponse(t.Context(), params, a.request)
	switch {
	case err == nil:
		a.outcome, a.id, a.revision, a.since = made, answer.JSON201.ID, answer.JSON201.Revision, time.Now()
		if a.revision != 1 {
			t.Errorf("%s was made at revision %d", *a.request.DisplayName, a.revision)
		}
	case leavesOpen(err):
		a.outcome = unknown
	case isTaken(err):
		a.outcome = refused
		if holdfast.IsCode(err, "handle_taken") {
			c.storm.noteTaken(a.request.Handle)
		}
	case !mayRetry(err):
		t.Errorf("create %s: %v", a.request.Handle, err)
	case a.outcome == untried:
		a.outcome = refused
	}
	return err
}

func (c *caller) change(t *testing.T, calls clients, a *attempt) error {
	answer, err := calls.keyed.PatchAccountWithResponse(t.Context(), a.id, &holdfast.PatchAccountParams{IfMatch: a.etag()},
		holdfast.AccountPatch{Attributes: json.RawMessage(fmt.Sprintf(`{"was":%d}`, a.revision))})
	switch {
	case err == nil:
		a.revision++
		if got := answer.JSON200.Revision; got != a.revision {
			t.Errorf("a change made %s revision %d, want %d", a.request.Handle, got, a.revision)
		}
	case leavesOpen(err) || mayRetry(err):
		a.changing = true
	default:
		t.Errorf("change %s: %v", a.request.Handle, err)
	}
	return err
}

func (c *caller) remove(t *testing.T, calls clients, a *attempt) error {
	if a.leaving.IsZero() {
		a.leaving = time.Now()
	}
	_, err := calls.keyed.DeleteAccountWithResponse(t.Context(), a.id, &holdfast.DeleteAccountParams{IfMatch: a.etag()})
	switch {
	case err == nil:
		a.gone = true
		c.storm.noteDeleted(a.id)
	case !leavesOpen(err) && !mayRetry(err):
		t.Errorf("delete %s: %v", a.request.Handle, err)
	}
	return err
}

func (a *attempt) etag() *string { return ptr(fmt.Sprintf("%q", fmt.Sprint(a.revision))) }
