package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// draft is an email change on its way to its code.
type draft struct {
	to   string
	key  string // Idempotency-Key of its beginning
	id   string // "" while its beginning wasn't answered
	code string
}

// changeEmail takes an account to another address: one that all want, one of its
// own, or the same in other letters.
func (p *app) changeEmail(t *testing.T) {
	a := p.own((*account).quiet)
	if a == nil {
		return
	}
	to := wildEmail(p.rng)
	switch p.rng.IntN(5) {
	case 0:
		to = p.ownEmail()
	case 1:
		if a.told.email != "" {
			to = otherLetters(a.told.email)
		}
	}
	if to != a.told.email {
		p.moveTo(t, a, to)
	}
}

func (p *app) ownEmail() string { return fmt.Sprintf("own-%d@example.com", p.wishes.Add(1)) }

func otherLetters(email string) string {
	if upper := strings.ToUpper(email[:1]) + email[1:]; upper != email {
		return upper
	}
	return strings.ToLower(email)
}

// moveTo begins and confirms a change of address.
func (p *app) moveTo(t *testing.T, a *account, to string) error {
	a.draft = &draft{to: to, key: fmt.Sprintf("change-%d", p.wishes.Add(1))}
	return p.goOn(t, a)
}

// goOn goes on with the account's draft as far as it comes.
func (p *app) goOn(t *testing.T, a *account) error {
	c, err := p.confirmation(t, a)
	if c == nil {
		return err
	}
	return p.change(t, a, c)
}

// drafted takes an account's change of address to where it can be confirmed; nil
// if it doesn't come there now.
func (p *app) drafted(t *testing.T, a *account) *change {
	to := wildEmail(p.rng)
	if keyOf(to) == keyOf(a.told.email) {
		to = p.ownEmail()
	}
	a.draft = &draft{to: to, key: fmt.Sprintf("change-%d", p.wishes.Add(1))}
	c, _ := p.confirmation(t, a)
	return c
}

// confirmation begins the account's draft, unless that was done, and gives the
// change that it is to become.
func (p *app) confirmation(t *testing.T, a *account) (*change, error) {
	d := a.draft
	if d.id == "" {
		answer, err := p.client.BeginEmailChangeWithResponse(t.Context(), a.id,
			&holdfast.BeginEmailChangeParams{IdempotencyKey: &d.key}, holdfast.NewEmailChange{Email: d.to})
		a.note("begin a change to %s: %v", d.to, told(err))
		if err != nil {
			a.again = later(err)
			if !leavesOpen(err) && !mayRetry(err) {
				p.fault(t, a, "beginning a change to %s got %v", d.to, err)
				a.draft = nil
			}
			return nil, err
		}
		if answer.JSON201.Email != d.to {
			p.fault(t, a, "a change to %s was begun as one to %s", d.to, answer.JSON201.Email)
		}
		d.id, d.code = answer.JSON201.ID, answer.JSON201.Code
		if p.rng.IntN(10) == 0 {
			p.mistype(t, a)
		}
	}
	a.draft = nil
	return &change{what: emailing, to: d.to, code: d, kind: "account.email_changed"}, nil
}

// mistype confirms the account's draft with a wrong code, which changes nothing.
func (p *app) mistype(t *testing.T, a *account) {
	_, err := p.client.ConfirmEmailChangeWithResponse(t.Context(), a.id, a.draft.id, holdfast.EmailCode{Code: "0" + a.draft.code[:7] + "1"})
	a.note("confirm with a wrong code: %v", told(err))
	if !holdfast.IsCode(err, "email_code_wrong") && !leavesOpen(err) && !mayRetry(err) {
		p.fault(t, a, "a wrong code got %v", err)
	}
}

// callOff begins a change of address and cancels it: its code is worth nothing
// then.
func (p *app) callOff(t *testing.T) {
	a := p.own((*account).quiet)
	if a == nil {
		return
	}
	c := p.drafted(t, a)
	if c == nil {
		return
	}
	_, err := p.client.CancelEmailChangeWithResponse(t.Context(), a.id, c.code.id)
	a.note("cancel the change to %s: %v", c.to, told(err))
	switch {
	case leavesOpen(err) || mayRetry(err):
	case err != nil:
		p.fault(t, a, "cancelling its change got %v", err)
	default:
		_, err := p.client.ConfirmEmailChangeWithResponse(t.Context(), a.id, c.code.id, holdfast.EmailCode{Code: c.code.code})
		a.note("confirm the cancelled change: %v", told(err))
		if !holdfast.IsCode(err, "email_change_not_found") && !leavesOpen(err) && !mayRetry(err) {
			p.fault(t, a, "a cancelled change was confirmed: %v", err)
		}
	}
}

// thereAndBack takes an account to another address and back again at once, so
// that the second change comes upon what the first one leaves.
func (p *app) thereAndBack(t *testing.T) {
	a := p.own(func(a *account) bool { return a.quiet() && a.told.email != "" })
	if a == nil {
		return
	}
	home, away := a.told.email, p.ownEmail()
	if p.rng.IntN(2) == 0 {
		away = wildEmail(p.rng)
	}
	if keyOf(away) == keyOf(home) || p.moveTo(t, a, away) != nil {
		return
	}
	if a.quiet() {
		p.moveTo(t, a, home) // which somebody else may have taken
	}
}

// swap lets two accounts go for each other's address at once: neither gets it, as
// long as the other has it.
func (p *app) swap(t *testing.T) {
	ready := func(a *account) bool { return a.quiet() && a.told.email != "" }
	a := p.own(ready)
	b := p.own(func(b *account) bool { return ready(b) && b != a })
	if a == nil || b == nil {
		return
	}
	a.draft = &draft{to: b.told.email, key: fmt.Sprintf("change-%d", p.wishes.Add(1))}
	b.draft = &draft{to: a.told.email, key: fmt.Sprintf("change-%d", p.wishes.Add(1))}
	toB, _ := p.confirmation(t, a)
	toA, _ := p.confirmation(t, b)
	if toA == nil || toB == nil {
		return
	}
	a.begin(p.ledger, toB)
	b.begin(p.ledger, toA)
	var h1, h2 heard
	side(func() { h1 = p.ask(t, a, toB) }, func() { h2 = p.ask(t, b, toA) })
	if h1.err == nil && h2.err == nil {
		p.fault(t, a, "it swapped its address with %s, which had it all the while", b.id)
	}
	p.hear(t, a, h1)
	p.hear(t, b, h2)
}

// readOwn reads an account of the application's.
func (p *app) readOwn(t *testing.T) {
	if a := p.own((*account).stays); a != nil {
		p.read(t, a)
	}
}

// readMany reads accounts of the application's together.
func (p *app) readMany(t *testing.T) {
	some := map[string]*account{}
	var ids []string
	for range 10 {
		if a := p.own(func(a *account) bool { return a.outcome == made && some[a.id] == nil }); a != nil {
			some[a.id] = a
			ids = append(ids, a.id)
		}
	}
	if len(ids) == 0 {
		return
	}
	answer, err := p.client.BatchGetAccountsWithResponse(t.Context(), holdfast.BatchGet{Ids: ids})
	if err != nil {
		if !unanswered(err) && !mayRetry(err) {
			p.fault(t, nil, "reading accounts together got %v", err)
		}
		return
	}
	for i, r := range answer.JSON200.Results {
		a := some[ids[i]]
		if a.note("read with others"); r.Account == nil {
			p.see(t, a, facts{deleted: true})
		} else {
			p.see(t, a, factsOf(r.Account))
		}
	}
}

// lookUpOwn looks an account of the application's up by one of its keys.
func (p *app) lookUpOwn(t *testing.T) {
	if a := p.own((*account).stays); a != nil {
		p.lookUp(t, p.client, p.anyKeyOf(a))
	}
}

func (p *app) anyKeyOf(a *account) holdfast.LookupKey {
	if a.told.email != "" && p.rng.IntN(2) == 0 {
		return holdfast.LookupKey{Email: &a.told.email}
	}
	return holdfast.LookupKey{Handle: &a.wish.Handle}
}

// lookUp looks a key up and holds what it finds to what is known.
func (s *tempest) lookUp(t *testing.T, client *holdfast.ClientWithResponses, key holdfast.LookupKey) {
	w := s.ledger.watch(nameOf(key))
	answer, err := client.LookupAccountWithResponse(t.Context(), key)
	if err != nil && !holdfast.IsCode(err, "account_not_found") {
		if !unanswered(err) && !mayRetry(err) {
			s.fault(t, keySubject(w.key), "looking it up got %v", err)
		}
		return
	}
	if wrong := s.ledger.judge(w, found(answer, err)); wrong != "" {
		s.fault(t, keySubject(w.key), "%s (asked at %s)", wrong, w.began.Format(time.TimeOnly))
	}
}
