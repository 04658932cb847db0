package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// journal is what was asked of one thing, and what came of it.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) note(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.lines)
}

// account is what its application knows of one: nobody else changes it.
type account struct {
	journal
	wish     holdfast.NewAccount // under a display name of its own
	key      string              // Idempotency-Key of its creation; "" for none
	tries    int                 // of the creation
	outcome  outcome
	imported bool

	id     string
	told   facts     // acknowledged
	open   []*change // asked for, and may have been made or not
	handle *stint
	email  *stint // of the address in force; nil without
	draft  *draft // an email change on its way to its code
	again  time.Time
	aging  bool // it was deleted, and its quarantine may end
}

// facts are the parts of an account that change.
type facts struct {
	revision int64
	email    string // as it was given; "" for none
	mark     string // a word in its attributes
	disabled bool
	deleted  bool
}

func factsOf(got *holdfast.Account) facts {
	var attributes struct{ Mark string }
	json.Unmarshal(got.Attributes, &attributes)
	f := facts{revision: got.Revision, mark: attributes.Mark, disabled: got.Status == "disabled"}
	if got.Email != nil {
		f.email = *got.Email
	}
	return f
}

func withMark(mark string) json.RawMessage { return json.RawMessage(fmt.Sprintf(`{"mark":%q}`, mark)) }

// change is one change of an account that was asked for.
type change struct {
	what changing
	to   string // the mark or the address
	base int64  // the revision it was asked for with; 0 for none
	code *draft // what a confirmation needs
	kind string // of its event

	gain, lose *stint // the keys that it gives and takes
}

type changing string

const (
	remarking changing = "mark"
	disabling changing = "disable"
	enabling  changing = "enable"
	emailing  changing = "email"
	removing  changing = "remove email"
	deleting  changing = "delete"
)

// shown tells whether an account that is so has the change behind it.
func (c *change) shown(f facts) bool {
	switch c.what {
	case remarking:
		return f.mark == c.to
	case disabling:
		return f.disabled
	case enabling:
		return !f.disabled
	case deleting:
		return f.deleted
	default:
		return f.email == c.to
	}
}

func (c *change) apply(f *facts) {
	f.revision++
	switch c.what {
	case remarking:
		f.mark = c.to
	case disabling, enabling:
		f.disabled = c.what == disabling
	case deleting:
		f.deleted = true
	default:
		f.email = c.to
	}
}

// stays tells whether the account is there for sure.
func (a *account) stays() bool {
	return a.outcome == made && !a.told.deleted && !a.opens(deleting)
}

// quiet tells whether all is known of it, so that something else may be asked.
func (a *account) quiet() bool { return a.stays() && len(a.open) == 0 && a.draft == nil }

func (a *account) opens(what changing) bool {
	return slices.ContainsFunc(a.open, func(c *change) bool { return c.what == what })
}

// unsettled tells whether there is more to find out, and it is time for it.
func (a *account) unsettled() bool {
	return (a.outcome == unknown || len(a.open) > 0 || a.draft != nil && a.outcome == made) && time.Now().After(a.again)
}

// surelyActive tells whether its devices get what is theirs, whatever comes of
// what is open; surelyBarred, whether they get nothing.
func (a *account) surelyActive() bool {
	return a.stays() && !a.told.disabled && !a.opens(disabling)
}

func (a *account) surelyBarred() bool { return a.told.deleted || a.told.disabled && !a.opens(enabling) }

// see holds what was read of the account to what is known: all that was
// acknowledged, and of what is open nothing, some or all, each with one revision.
// What shows has been made.
func (a *account) see(l *ledger, got facts) (wrong string) {
	want := a.told
	var shown, open []*change
	for _, c := range a.open {
		if c.shown(got) {
			c.apply(&want)
			shown = append(shown, c)
		} else {
			open = append(open, c)
		}
	}
	if got.deleted { // and nothing else of it can be read
		want.revision, want.email, want.mark, want.disabled = got.revision, got.email, got.mark, got.disabled
	}
	if want != got {
		return fmt.Sprintf("it is %+v, and was acknowledged as %+v, with %d changes open, of which %d show", got, a.told, len(a.open), len(shown))
	}
	a.told, a.open = want, open
	for _, c := range shown {
		wrong = a.made(l, c)
	}
	if got.deleted {
		a.end(l)
		return wrong
	}
	l.acknowledge(a.id, got.revision, "")
	return wrong
}

// made moves the account's keys with a change that has been made.
func (a *account) made(l *ledger, c *change) (wrong string) {
	if c.gain != nil {
		wrong = l.has(c.gain, a.id)
	}
	l.left(c.lose)
	if c.what == emailing && c.gain != nil || c.what == removing {
		a.email = c.gain
	}
	return wrong
}

// end is that the account was deleted: no change of it is open any more, and its
// address is free.
func (a *account) end(l *ledger) {
	for _, c := range a.open {
		l.left(c.gain)
	}
	l.left(a.email)
	a.open, a.draft, a.email = nil, nil, nil
	l.entombs(a.handle)
	l.stays(a.handle) // what shook it was the deletion
	l.acknowledge(a.id, gone, "account.deleted")
}

// begin notes that a change is being asked for.
func (a *account) begin(l *ledger, c *change) *change {
	switch c.what {
	case emailing:
		if a.told.email == "" || keyOf(c.to) != keyOf(a.told.email) {
			c.gain, c.lose = l.wants(c.to, a.id), a.email
		}
	case removing, deleting:
		c.lose = a.email
	}
	l.leaves(c.lose)
	if c.what == deleting {
		l.leaves(a.handle)
	}
	a.open = append(a.open, c)
	return c
}

// drop is that a change was not made, and won't be.
func (a *account) drop(l *ledger, c *change) {
	a.open = slices.DeleteFunc(a.open, func(other *change) bool { return other == c })
	l.left(c.gain)
	l.stays(c.lose)
	if c.what == deleting {
		l.stays(a.handle)
	}
}
