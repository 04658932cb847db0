package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// heard is an answer to a change.
type heard struct {
	change  *change
	account *holdfast.Account // nil after a deletion
	err     error
	began   time.Time
}

// ask asks for a change once, in whatever words it takes.
func (p *app) ask(t *testing.T, a *account, c *change) heard {
	h := heard{change: c, began: time.Now()}
	match := ptr(fmt.Sprintf("%q", fmt.Sprint(c.base)))
	switch c.what {
	case remarking, disabling, enabling:
		patch := holdfast.AccountPatch{Attributes: withMark(c.to)}
		if c.what != remarking {
			status := holdfast.AccountPatchStatusDisabled
			if c.what == enabling {
				status = holdfast.AccountPatchStatusActive
			}
			patch = holdfast.AccountPatch{Status: &status}
		}
		answer, err := p.client.PatchAccountWithResponse(t.Context(), a.id, &holdfast.PatchAccountParams{IfMatch: match}, patch)
		if h.err = err; err == nil {
			h.account = answer.JSON200
		}
	case emailing:
		answer, err := p.client.ConfirmEmailChangeWithResponse(t.Context(), a.id, c.code.id, holdfast.EmailCode{Code: c.code.code})
		if h.err = err; err == nil {
			h.account = answer.JSON200
		}
	case removing:
		answer, err := p.client.RemoveEmailWithResponse(t.Context(), a.id, &holdfast.RemoveEmailParams{IfMatch: match})
		if h.err = err; err == nil {
			h.account = answer.JSON200
		}
	case deleting:
		_, h.err = p.client.DeleteAccountWithResponse(t.Context(), a.id, &holdfast.DeleteAccountParams{IfMatch: match})
	}
	a.note("%s %s from %d: %v", c.what, c.to, c.base, told(h.err))
	return h
}

// change asks for a change and takes in the answer.
func (p *app) change(t *testing.T, a *account, c *change) error {
	h := p.ask(t, a, a.begin(p.ledger, c))
	p.hear(t, a, h)
	return h.err
}

// hear takes in what came of a change that is open.
func (p *app) hear(t *testing.T, a *account, h heard) {
	c := h.change
	switch {
	case h.err == nil && c.what == deleting:
		p.see(t, a, facts{deleted: true})
	case h.err == nil:
		p.hearDone(t, a, h)
	case leavesOpen(h.err):
		a.again = time.Now()
	case mayRetry(h.err):
		a.again = later(h.err)
	case holdfast.IsCode(h.err, "email_taken") && c.what == emailing:
		if c.gain == nil || !p.ledger.mayHaveBeenTaken(c.gain, h.began) {
			p.fault(t, a, "%s was called taken, and nobody can have had it", c.to)
		}
		a.drop(p.ledger, c)
	case holdfast.IsCode(h.err, "revision_stale"), holdfast.IsCode(h.err, "email_change_not_found"), holdfast.IsCode(h.err, "account_not_found"):
		p.hearTooLate(t, a, h)
	default:
		p.fault(t, a, "%s %s got %v", c.what, c.to, h.err)
		a.drop(p.ledger, c)
	}
}

func (p *app) hearDone(t *testing.T, a *account, h heard) {
	c, got := h.change, h.account
	if !c.shown(factsOf(got)) || c.base > 0 && got.Revision != c.base+1 {
		p.fault(t, a, "%s %s from %d was answered with %+v", c.what, c.to, c.base, got)
	}
	p.see(t, a, factsOf(got))
	p.ledger.acknowledge(a.id, got.Revision, c.kind)
}

// hearTooLate takes in that a change came too late: it was made before, and its
// answer was lost, or something else was in its place.
func (p *app) hearTooLate(t *testing.T, a *account, h heard) {
	c := h.change
	if p.read(t, a) != nil || !slices.Contains(a.open, c) {
		return
	}
	if stale := holdfast.IsCode(h.err, "revision_stale") && a.told.revision > c.base; !stale {
		p.fault(t, a, "%s %s from %d got %v, and wasn't made", c.what, c.to, c.base, h.err)
	}
	a.drop(p.ledger, c)
}

// see takes in what an account is by the service's word.
func (p *app) see(t *testing.T, a *account, got facts) {
	if wrong := a.see(p.ledger, got); wrong != "" {
		p.fault(t, a, "%s", wrong)
	}
	if a.told.deleted && !a.aging {
		a.aging = true
		p.aging.entomb(a)
	}
}

// read finds out what an account is.
func (p *app) read(t *testing.T, a *account) error {
	answer, err := p.client.GetAccountWithResponse(t.Context(), a.id)
	a.note("read: %v", told(err))
	switch {
	case err == nil:
		p.see(t, a, factsOf(answer.JSON200))
	case holdfast.IsCode(err, "account_not_found"):
		p.see(t, a, facts{deleted: true})
		return nil
	case !unanswered(err) && !mayRetry(err):
		p.fault(t, a, "reading it got %v", err)
	}
	return err
}

// settle goes on with what is known in part.
func (p *app) settle(t *testing.T, a *account) {
	switch {
	case a.outcome == unknown && a.key == "":
		p.findLost(t, a)
	case a.outcome == unknown:
		p.create(t, a)
	case len(a.open) > 0 && p.rng.IntN(4) == 0:
		p.read(t, a)
	case len(a.open) > 0:
		p.hear(t, a, p.ask(t, a, a.open[p.rng.IntN(len(a.open))]))
	default:
		p.goOn(t, a)
	}
}

func (p *app) own(so func(*account) bool) *account { return pick(p.rng, p.accounts, so) }

func (p *app) remark(t *testing.T) {
	if a := p.own((*account).quiet); a != nil {
		p.change(t, a, p.marking(a))
	}
}

func (p *app) marking(a *account) *change {
	return &change{what: remarking, to: fmt.Sprintf("m%d", p.wishes.Add(1)), base: a.told.revision, kind: "account.changed"}
}

// turn makes an active account a disabled one, or the other way round.
func (p *app) turn(t *testing.T) {
	if a := p.own((*account).quiet); a != nil {
		p.change(t, a, turning(a))
	}
}

func turning(a *account) *change {
	if a.told.disabled {
		return &change{what: enabling, base: a.told.revision, kind: "account.changed"}
	}
	return &change{what: disabling, base: a.told.revision, kind: "account.changed"}
}

func (p *app) removeEmail(t *testing.T) {
	if a := p.own(func(a *account) bool { return a.quiet() && a.told.email != "" }); a != nil {
		p.change(t, a, &change{what: removing, base: a.told.revision, kind: "account.email_removed"})
	}
}

func (p *app) remove(t *testing.T) {
	if a := p.own((*account).quiet); a != nil {
		p.change(t, a, deletion(a))
	}
}

func deletion(a *account) *change { return &change{what: deleting, base: a.told.revision} }

// duel lets two requests change one account at once.
func (p *app) duel(t *testing.T) {
	a := p.own((*account).quiet)
	if a == nil {
		return
	}
	one := p.marking(a)
	if p.rng.IntN(3) == 0 {
		one = turning(a)
	}
	var other *change
	switch p.rng.IntN(4) {
	case 0:
		other = p.marking(a)
	case 1:
		other = deletion(a)
	default:
		if other = p.drafted(t, a); other == nil {
			return
		}
		if p.rng.IntN(4) == 0 {
			one = deletion(a)
		}
	}
	if one.what == deleting && other.what == deleting {
		one = p.marking(a)
	}
	a.begin(p.ledger, one)
	a.begin(p.ledger, other)
	var h1, h2 heard
	side(func() { h1 = p.ask(t, a, one) }, func() { h2 = p.ask(t, a, other) })
	p.hearBoth(t, a, h1, h2)
}

// hearBoth takes in two answers in the order in which the changes were made.
func (p *app) hearBoth(t *testing.T, a *account, h1, h2 heard) {
	rank := func(h heard) int64 {
		switch {
		case h.account != nil:
			return h.account.Revision
		case h.err == nil:
			return gone - 1
		default:
			return gone
		}
	}
	if rank(h2) < rank(h1) {
		h1, h2 = h2, h1
	}
	p.hear(t, a, h1)
	if slices.Contains(a.open, h2.change) || h2.err == nil {
		p.hear(t, a, h2)
	}
}
