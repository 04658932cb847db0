package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// createAccount asks for an account whose handle two others want too, with an
// address that all want, or one of its own, or one that isn't verified yet, or
// none.
func (p *app) createAccount(t *testing.T) { p.create(t, p.newAccount()) }

func (p *app) newAccount() *account {
	n := p.wishes.Add(1)
	a := &account{wish: holdfast.NewAccount{
		Handle:      wildHandle(n),
		DisplayName: ptr(fmt.Sprintf("wish %d", n)),
		Attributes:  withMark("new"),
	}}
	switch p.rng.IntN(6) {
	case 0:
	case 1:
		a.wish.Email = ptr(fmt.Sprintf("own-%d@example.com", n))
	case 2:
		a.wish.Email, a.wish.EmailVerified = ptr(fmt.Sprintf("own-%d@example.com", n)), ptr(true)
	default:
		a.wish.Email, a.wish.EmailVerified = ptr(wildEmail(p.rng)), ptr(true)
	}
	if p.rng.IntN(5) > 0 {
		a.key = fmt.Sprintf("account-%d", n)
	}
	p.accounts = append(p.accounts, a)
	a.expect(p.ledger)
	return a
}

// expect notes what the account may come to have from now on.
func (a *account) expect(l *ledger) {
	a.handle = l.wants(a.wish.Handle, "")
	if a.verified() {
		a.email = l.wants(*a.wish.Email, "")
	}
}

func (a *account) verified() bool { return a.wish.EmailVerified != nil && *a.wish.EmailVerified }

func wildHandle(n int64) string { return fmt.Sprintf("wild-%d", n/3) }

func wildEmail(rng *rand.Rand) string {
	return fmt.Sprintf("wild-%d@example.com", rng.IntN(wildEmails))
}

// wildEmails are the addresses that all applications want.
const wildEmails = 24

// created is an answer to a creation.
type created struct {
	account *holdfast.CreatedAccount
	err     error
	began   time.Time
}

func (p *app) askCreate(t *testing.T, a *account) created {
	client, params := p.keyless, (*holdfast.CreateAccountParams)(nil)
	if a.key != "" {
		client, params = p.client, &holdfast.CreateAccountParams{IdempotencyKey: &a.key}
	}
	began := time.Now()
	answer, err := client.CreateAccountWithResponse(t.Context(), params, a.wish)
	a.note("create: %v", told(err))
	if err != nil {
		return created{nil, err, began}
	}
	return created{answer.JSON201, nil, began}
}

func (p *app) create(t *testing.T, a *account) {
	a.tries++
	p.hearCreate(t, a, p.askCreate(t, a))
}

// createTwice asks for one account by two requests with one key at once.
func (p *app) createTwice(t *testing.T) {
	a := p.newAccount()
	a.key = fmt.Sprintf("twice-%d", p.wishes.Add(1))
	a.tries = 2
	var one, other created
	side(func() { one = p.askCreate(t, a) }, func() { other = p.askCreate(t, a) })
	if one.err != nil {
		one, other = other, one
	}
	switch {
	case one.err == nil:
		p.hearCreate(t, a, one)
		p.hearCreate(t, a, other)
	case isTaken(one.err): // while the other may have found the keys free
		p.hearCreate(t, a, other)
	default:
		p.hearCreate(t, a, one)
	}
}

func (p *app) hearCreate(t *testing.T, a *account, r created) {
	switch {
	case r.err == nil:
		p.hearMade(t, a, r.account)
	case a.outcome == made && isTaken(r.err):
		p.hearTaken(t, a, r) // before a request at the same time found the keys free
	case a.outcome == made: // by a request at the same time
		if !leavesOpen(r.err) && !mayRetry(r.err) {
			p.fault(t, a, "it was made, and a creation with its key at the same time got %v", r.err)
		}
	case leavesOpen(r.err):
		a.outcome = unknown
	case isTaken(r.err):
		p.hearTaken(t, a, r)
		p.forsake(a)
	case !mayRetry(r.err):
		p.fault(t, a, "its creation got %v", r.err)
	case a.key == "" && a.tries == 1:
		p.forsake(a)
	default:
		a.outcome, a.again = unknown, later(r.err)
	}
}

// forsake is that the account was not made, and nobody will ask for it again.
func (p *app) forsake(a *account) {
	a.outcome = refused
	p.ledger.left(a.handle)
	p.ledger.left(a.email)
}

// hearTaken holds the refusal of a key to there having been somebody who may have
// had it.
func (p *app) hearTaken(t *testing.T, a *account, r created) {
	var e *holdfast.Error
	errors.As(r.err, &e)
	if e.Errors == nil {
		p.fault(t, a, "its creation was refused, and no key was named: %v", r.err)
		return
	}
	for _, field := range *e.Errors {
		st := a.handle
		if field.Pointer == "/email" {
			st = a.email
		}
		if st == nil || !p.ledger.mayHaveBeenTaken(st, r.began) {
			p.fault(t, a, "%s was called taken, and nobody can have had it", field.Pointer)
		}
	}
}

func (p *app) hearMade(t *testing.T, a *account, got *holdfast.CreatedAccount) {
	account := holdfast.Account{
		ID: got.ID, Revision: got.Revision, Status: got.Status, Handle: got.Handle, Email: got.Email,
		DisplayName: got.DisplayName, Attributes: got.Attributes,
	}
	if a.outcome != made {
		p.adopt(t, a, &account)
	} else if got.ID != a.id {
		p.fault(t, a, "it was made as %s, and its key found %s", a.id, got.ID)
	}
	if got.EmailChange != nil && a.draft == nil && a.told.revision == 1 {
		a.draft = &draft{to: got.EmailChange.Email, id: got.EmailChange.ID, code: got.EmailChange.Code}
	}
	if wanted := a.wish.Email != nil && !a.verified(); (got.EmailChange != nil) != wanted {
		p.fault(t, a, "its creation came with an email change: %v", got.EmailChange)
	}
}

// adopt notes that an account which was asked for has been made.
func (p *app) adopt(t *testing.T, a *account, got *holdfast.Account) {
	a.outcome, a.id = made, got.ID
	a.told = facts{revision: 1, mark: "new"}
	if a.verified() {
		a.told.email = *a.wish.Email
	}
	if f := factsOf(got); f != a.told || got.Handle != a.wish.Handle {
		p.fault(t, a, "it was asked for as %+v, and made as %+v", a.wish, got)
	}
	for _, st := range []*stint{a.handle, a.email} {
		if st == nil {
			continue
		}
		if wrong := p.ledger.has(st, a.id); wrong != "" {
			p.fault(t, a, "%s", wrong)
		}
	}
	p.ledger.acknowledge(a.id, 1, "account.created")
}

// findLost looks for an account whose creation had no key to repeat it with.
func (p *app) findLost(t *testing.T, a *account) {
	w := p.ledger.watch(a.wish.Handle)
	answer, err := p.client.LookupAccountWithResponse(t.Context(), holdfast.LookupKey{Handle: &a.wish.Handle})
	a.note("look it up: %v", told(err))
	switch {
	case err == nil && answer.JSON200.DisplayName != nil && *answer.JSON200.DisplayName == *a.wish.DisplayName:
		p.adopt(t, a, answer.JSON200)
	case err == nil || holdfast.IsCode(err, "account_not_found"):
		if wrong := p.ledger.judge(w, found(answer, err)); wrong != "" {
			p.fault(t, a, "%s", wrong)
		}
		a.again = time.Now().Add(time.Second) // it may come still
	case !unanswered(err) && !mayRetry(err):
		p.fault(t, a, "looking its handle up got %v", err)
	}
}

// found is the account that a look-up found, or nil.
func found(answer *holdfast.LookupAccountResponse, err error) *holdfast.Account {
	if err != nil {
		return nil
	}
	return answer.JSON200
}
