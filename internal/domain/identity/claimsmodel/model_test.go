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
	given   []token
	callers [2][]token

	// What keeps a search from being idle: at least so many states, each of these
	// sights among them, and claims refused to each of these changes.
	atLeast  int
	conflict []token
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
	want    keys // the keys that the record shall hold afterwards
	expires bool // they are device codes, which expire
}

type kind uint8

const (
	nothing kind = iota
	create
	update // moves the record to the wanted keys
	remove // leaves a tombstone with those of the wanted keys that it held, in quarantine
	touch  // a key-preserving update: one compare-and-swap
)

func (c change) String() string {
	verb := [...]string{"nothing", "create", "update", "remove", "touch"}[c.kind]
	if c.kind == touch {
		return fmt.Sprintf("%s %v", verb, c.record)
	}
	return fmt.Sprintf("%s %v %v", verb, c.record, c.want)
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

// start is the state in which the given changes have been made one after the
// other, each to its end. Their claims and releases may still arrive again.
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
		for k := range key(keyCount) {
			right.releaseOwed(&s, t, k)
		}
		right.clear(&s, t)
		tell(&s, t, success)
	}
	return s
}
