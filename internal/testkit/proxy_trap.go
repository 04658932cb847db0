package testkit

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Moment is when a client runs something that a test waits for.
type Moment struct {
	part   string // of a statement's text
	commit bool   // not the statement itself: the commit of the transaction that it was run in
}

// Statement is when a statement is run whose text has this part.
func Statement(part string) Moment { return Moment{part: part} }

// CommitOf is when a transaction commits in which such a statement was run.
func CommitOf(part string) Moment { return Moment{part: part, commit: true} }

func (m Moment) String() string {
	if m.commit {
		return "the commit of " + m.part
	}
	return m.part
}

// is tells whether the moment has come: sql is about to be run, behind the other
// statements of its transaction.
func (m Moment) is(sql string, transaction []string) bool {
	if !m.commit {
		return strings.Contains(sql, m.part)
	}
	return commits(sql) && slices.ContainsFunc(transaction, func(ran string) bool { return strings.Contains(ran, m.part) })
}

// Trap does something to the first connection that meets its moment, and to no
// other. A test fails whose traps have not all been met when it ends, since it
// proved nothing.
type Trap struct {
	moment Moment
	act    func(*link) error

	sprung   atomic.Bool
	met      chan struct{}
	release  sync.Once
	released chan struct{}
}

// Met is closed once the moment came.
func (t *Trap) Met() <-chan struct{} { return t.met }

// Release lets a held connection go on.
func (t *Trap) Release() { t.release.Do(func() { close(t.released) }) }

func (t *Trap) springs(sql string, transaction []string) bool {
	if !t.moment.is(sql, transaction) || !t.sprung.CompareAndSwap(false, true) {
		return false
	}
	close(t.met)
	return true
}

// spring gives the trap that was waiting for this, or nil.
func (p *Proxy) spring(sql string, transaction []string) *Trap {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, trap := range p.traps {
		if trap.springs(sql, transaction) {
			return trap
		}
	}
	return nil
}

// CutBefore cuts the connection that comes to the moment, with what it was about
// to run not forwarded: a commit doesn't happen.
func (in *Proxied) CutBefore(t testing.TB, m Moment) *Trap {
	return in.arm(t, m, func(*Trap) func(*link) error {
		return func(*link) error { return errCut }
	})
}

// CutAfter lets the server do what is run at the moment, and all that was sent
// with it, and cuts the connection when the answer arrives: a commit happens, and
// its client never learns.
func (in *Proxied) CutAfter(t testing.TB, m Moment) *Trap {
	return in.arm(t, m, func(*Trap) func(*link) error {
		return func(l *link) error {
			l.withheld.Store(l.asked + 1)
			return nil
		}
	})
}

// HoldBefore holds the connection that comes to the moment until the trap is
// released. Others go on.
func (in *Proxied) HoldBefore(t testing.TB, m Moment) *Trap {
	return in.arm(t, m, func(trap *Trap) func(*link) error {
		return func(l *link) error { return l.wait(trap.released) }
	})
}

// arm sets a trap at every proxy.
func (in *Proxied) arm(t testing.TB, m Moment, act func(*Trap) func(*link) error) *Trap {
	trap := &Trap{moment: m, met: make(chan struct{}), released: make(chan struct{})}
	trap.act = act(trap)
	for _, p := range in.proxies {
		p.mu.Lock()
		p.traps = append(p.traps, trap)
		p.mu.Unlock()
	}
	t.Cleanup(func() {
		trap.Release()
		if !trap.sprung.Load() {
			t.Errorf("no connection came to the moment that the test waited for: %s", m)
		}
	})
	return trap
}
