package claimsmodel

import "fmt"

// model is a scenario under a set of faults; with none, it is the protocol as
// designed.
type model struct {
	scenario
	faults fault
}

func (m *model) has(f fault) bool { return m.faults&f != 0 }

// scenario is the changes that callers make, each in its order, in a world where
// the given changes have been made already.
type scenario struct {
	name    string
	changes [changeCount]change // from slot 1 on, without a gap
	given   []token             // creations
	callers [][]token

	// slowReaders read a claim's owner at two moments, with decisions in between:
	// its operation, and then its record.
	slowReaders bool

	// What keeps a search from being idle: at least so many states, each of these
	// sights among them, and claims refused to each of these changes.
	atLeast  int
	conflict []token
	sure     []token // changes that nothing can stand in the way of
	reaches  []sight
}

// sight is a state that a scenario is about.
type sight struct {
	what string
	seen func(*state) bool
}

// change is one request of a caller.
type change struct {
	kind    kind
	record  record
	want    keys  // the keys that the record shall hold afterwards
	of      token // the change whose pending change this one confirms or cancels, unless it is its own
	expires bool  // they are device codes, which expire
}

type kind uint8

const (
	nothing kind = iota
	create       // prepare, claim, commit
	update       // a new key, and an old one off: begun, then prepared, claimed, committed, released
	cancel       // ends a pending change, which was begun by another
	drop         // takes the keys that are not wanted off: prepare and commit in one decision
	remove       // the same, and leaves a tombstone with the rest of its keys in quarantine
	discard      // leaves nothing
	touch        // a key-preserving update: one compare-and-swap
)

func (c change) String() string {
	verb := [...]string{"nothing", "create", "update", "cancel", "drop all but", "remove", "discard", "touch"}[c.kind]
	switch c.kind {
	case touch, discard:
		return fmt.Sprintf("%s %v", verb, c.record)
	case cancel:
		return fmt.Sprintf("%s t%d of %v", verb, c.of, c.record)
	default:
		return fmt.Sprintf("%s %v of %v", verb, c.want, c.record)
	}
}

// last is the last change's token.
func (m *model) last() token {
	t := token(0)
	for int(t)+1 < changeCount && m.changes[t+1].kind != nothing {
		t++
	}
	return t
}

// owner is whose claims a token makes.
func (m *model) owner(t token) record { return m.changes[t].record }

// rowOf is the row that a token's operation belongs on.
func (m *model) rowOf(s *state, t token) *row { return &s.rows[m.owner(t)] }

// creates tells whether the operation would create its record, and so was
// prepared from no revision.
func (m *model) creates(op operation) bool { return m.changes[op.token].kind == create }

// pendingOf names the pending change that an update confirms.
func (m *model) pendingOf(t token) token {
	if of := m.changes[t].of; of != 0 {
		return of
	}
	return t
}

// start is the state in which the given creations have been made one after the
// other, each to its end. Their claims may still arrive again.
func (m *model) start() state {
	var s state
	right := model{scenario: m.scenario}
	for _, t := range m.given {
		run := &s.runs[t]
		right.prepare(&s, t)
		for k := range key(keyCount) {
			if run.added.has(k) {
				right.claim(&s, t, k)
			}
		}
		right.commit(&s, t)
		tell(&s, t, success)
	}
	return s
}
