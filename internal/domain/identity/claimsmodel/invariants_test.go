package claimsmodel

import "fmt"

// rule is one promise of the protocol. What judges it returns what is wrong, or "".
type rule string

const (
	oneOwner rule = "each key resolves to at most one owner, and never to an orphan or an uncommitted record"
	backed   rule = "each key of a committed record is claimed by it under the token that the record holds"
	history  rule = "a record changes only by a committed change, as that change says, and by one revision"
	honest   rule = "who was told success is in history, who was told failure is not"
	noOrphan rule = "only a claim that arrived too late becomes an orphan"
	recovers rule = "recovery, run to its end, leaves no operation, no orphan and no key lost"
)

// stateRules are judged in each state, and history in each step (wrongStep).
var stateRules = []struct {
	rule  rule
	wrong func(*model, *state) string
}{
	{oneOwner, (*model).wrongOwner},
	{backed, (*model).unbackedKey},
	{honest, (*model).dishonestAnswer},
	{noOrphan, (*model).wrongOrphan},
	{recovers, (*model).unrecovered},
}

// holds tells whether r is a live record that holds k, by a code that has not
// expired if it is one.
func holds(s *state, r record, k key) bool {
	row := &s.rows[r]
	return row.life == live && row.held[k] != 0 && !s.runs[row.held[k]].expired
}

func (m *model) wrongOwner(s *state) string {
	for k := range key(keyCount) {
		holders := 0
		for r := range record(recordCount) {
			if holds(s, r, k) {
				holders++
			}
		}
		if holders > 1 {
			return fmt.Sprintf("%d records hold %v", holders, k)
		}
		if r, found := m.lookup(s, k); found && !holds(s, r, k) {
			return fmt.Sprintf("%v resolves to %v, which doesn't hold it", k, r)
		}
	}
	return ""
}

// unbackedKey asks it of tombstones in quarantine too. A code past its expiry may
// have been taken over.
func (m *model) unbackedKey(s *state) string {
	for r := range record(recordCount) {
		row := &s.rows[r]
		if row.life != live && row.life != tombstone {
			continue
		}
		for k := range key(keyCount) {
			t, claimed := row.held[k], s.claims[k].token
			switch {
			case t == 0, t == claimed, s.runs[t].expired:
			case claimed == 0:
				return fmt.Sprintf("%v holds %v under t%d, and no claim stands", r, k, t)
			default:
				return fmt.Sprintf("%v holds %v under t%d, and the claim is t%d's", r, k, t, claimed)
			}
		}
	}
	return ""
}

func (m *model) dishonestAnswer(s *state) string {
	for t := range token(changeCount) {
		switch run := &s.runs[t]; {
		case run.answer == success && !run.happened:
			return fmt.Sprintf("t%d was told success, and is not in history", t)
		case run.answer == failure && run.happened:
			return fmt.Sprintf("t%d was told failure, and is in history", t)
		}
	}
	return ""
}

// accounted tells whether the owner of t's claim on k stands by it: the rule of
// which claims are known, said once more and without any fault.
func (m *model) accounted(s *state, t token, k key) bool {
	row := m.rowOf(s, t)
	op, run := row.op, &s.runs[row.op.token]
	switch {
	case row.held[k] == t && row.life != expiredTombstone:
		return true
	case op.phase == prepared, op.phase == aborted:
		return op.token == t && run.added.has(k)
	case op.phase == committed:
		return run.dropped[k] == t
	}
	return false
}

func (m *model) wrongOrphan(s *state) string {
	for k := range key(keyCount) {
		c := s.claims[k]
		if c.token != 0 && !c.stray && !m.accounted(s, c.token, k) {
			return fmt.Sprintf("%v doesn't know its claim on %v under t%d", m.owner(c.token), k, c.token)
		}
	}
	return ""
}

// unrecovered runs recovery from s with all callers stopped and no message under
// way, then the cleanup after all quarantines.
func (m *model) unrecovered(s *state) string {
	n := *s
	if wrong := m.recover(&n); wrong != "" {
		return wrong
	}
	for r := range record(recordCount) {
		if n.rows[r].content != s.rows[r].content {
			return fmt.Sprintf("recovery changed %v", r)
		}
		if n.rows[r].life == tombstone {
			n.endQuarantine(r)
		}
		m.bury(&n, r)
	}
	return m.recover(&n)
}

// recover finishes each operation as if its deadline had passed, removes the
// claims that are not known, and says what is left that should not be.
func (m *model) recover(s *state) string {
	for r := range record(recordCount) {
		t := s.rows[r].op.token
		if t == 0 {
			continue
		}
		if s.rows[r].op.phase == prepared {
			m.abort(s, t)
		}
		for k := range key(keyCount) {
			m.releaseOwed(s, t, k)
		}
		m.clear(s, t)
		if s.rows[r].op.phase != none {
			return fmt.Sprintf("%v still has an operation", r)
		}
	}
	for k := range key(keyCount) {
		if t := s.claims[k].token; t != 0 && !m.known(s, t, k) {
			s.claims[k] = claim{}
		}
		if t := s.claims[k].token; t != 0 && !m.accounted(s, t, k) {
			return fmt.Sprintf("the claim of t%d keeps %v from everybody", t, k)
		}
	}
	return m.unbackedKey(s)
}

// wrongStep judges a step: what it did to the records must be what the changes
// that it committed say, worked out here from the change alone.
func (m *model) wrongStep(before, after *state) string {
	var expected [recordCount]content
	for r := range expected {
		expected[r] = before.rows[r].content
	}
	for t := range token(changeCount) {
		if after.runs[t].happened && !before.runs[t].happened {
			r := m.owner(t)
			expected[r] = m.changed(expected[r], t)
		}
	}
	for r := range record(recordCount) {
		was, is := before.rows[r].content, after.rows[r].content
		aged := was
		aged.life = expiredTombstone
		switch {
		case is == expected[r]:
		case was.life == tombstone && is == aged: // time
		case was == aged && is == content{}: // cleanup
		default:
			return fmt.Sprintf("%v is %v and should be %v", r, is, expected[r])
		}
	}
	return ""
}

// changed is a record after change t.
func (m *model) changed(c content, t token) content {
	change := m.changes[t]
	c.revision++
	switch change.kind {
	case touch:
		c.notes |= 1 << t
		return c
	case remove:
		c.life = tombstone
	default:
		c.life = live
	}
	for k := range key(keyCount) {
		switch {
		case !change.want.has(k):
			c.held[k] = 0
		case c.held[k] == 0 && change.kind != remove:
			c.held[k] = t
		}
	}
	return c
}
