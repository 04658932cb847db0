package claimsmodel

import "fmt"

// rule is one promise of the protocol. What judges it returns what is wrong, or "".
type rule string

const (
	oneOwner rule = "each key resolves to at most one owner, and never to an orphan or an uncommitted record"
	backed   rule = "each key of a committed record is claimed by it under the token that the record holds"
	history  rule = "a record changes only by a committed change, as that change says, and lives on by one revision"
	inForce  rule = "a change commits only on the revision that it was prepared from, and while it is pending"
	honest   rule = "who was told success is in history, who was told failure is not"
	forGood  rule = "a claim that nobody needs is never needed again"
	noOrphan rule = "only a claim that arrived too late, or whose prepare was lost, becomes an orphan"
	recovers rule = "recovery, run to its end, leaves no operation, no orphan and no key lost"
)

// stateRules are judged in each state, and stepRules in each step.
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

var stepRules = []struct {
	rule  rule
	wrong func(m *model, before, after *state) string
}{
	{history, (*model).wrongStep},
	{inForce, (*model).staleCommit},
	{forGood, (*model).neededAgain},
}

// past tells whether token t's key is a code that has expired by any clock.
func past(s *state, t token) bool { return s.runs[t].expired || s.runs[t].lapsed }

func (m *model) wrongOwner(s *state) string {
	for k := range key(keyCount) {
		holders := 0
		for r := range record(recordCount) {
			if row := &s.rows[r]; row.life == live && row.held[k] != 0 && !past(s, row.held[k]) {
				holders++
			}
		}
		if holders > 1 {
			return fmt.Sprintf("%d records hold %v", holders, k)
		}
		r, found := m.lookup(s, k)
		if !found {
			continue
		}
		switch row, t := &s.rows[r], s.claims[k].token; {
		case row.life != live || row.held[k] != t:
			return fmt.Sprintf("%v resolves to %v, which doesn't hold it under t%d", k, r, t)
		case s.runs[t].lapsed:
			return fmt.Sprintf("%v resolves to %v, by a code that has expired", k, r)
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
			case t == 0, t == claimed, past(s, t):
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
	case row.held[k] == t && (row.life == live || row.life == tombstone):
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
	switch change.kind {
	case cancel:
		return c // a pending change doesn't touch the record
	case touch:
		c.revision++
		c.notes |= 1 << t
		return c
	case remove:
		c.life = tombstone
	case discard:
		return content{life: removed}
	default:
		c.life = live
	}
	c.revision++
	for k := range key(keyCount) {
		switch {
		case !change.want.has(k):
			c.held[k] = 0
		case c.held[k] == 0 && change.kind != remove && change.kind != drop:
			c.held[k] = t
		}
	}
	return c
}

// staleCommit judges a step that commits a prepared change.
func (m *model) staleCommit(before, after *state) string {
	for t := range token(changeCount) {
		kind := m.changes[t].kind
		if !after.runs[t].happened || before.runs[t].happened || kind != create && kind != update {
			continue
		}
		row := m.rowOf(before, t)
		switch base := before.runs[t].base; {
		case row.revision != base:
			return fmt.Sprintf("t%d was prepared from revision %d and commits on %d", t, base, row.revision)
		case kind == update && row.pending != m.pendingOf(t):
			return fmt.Sprintf("t%d commits, and the pending change is t%d's", t, row.pending)
		}
	}
	return ""
}

// needed tells whether anything rests on the claim of token t on key k, or may.
func (m *model) needed(s *state, t token, k key) bool {
	row, run := m.rowOf(s, t), &s.runs[t]
	switch {
	case run.expired:
		return false
	case row.held[k] == t && (row.life == live || row.life == tombstone):
		return !run.lapsed
	}
	return run.arrived && row.op.token == t && row.op.phase == prepared && run.added.has(k)
}

func (m *model) neededAgain(before, after *state) string {
	for t := range token(changeCount) {
		for k := range key(keyCount) {
			if before.runs[t].added.has(k) && !m.needed(before, t, k) && m.needed(after, t, k) {
				return fmt.Sprintf("t%d's claim on %v is needed again", t, k)
			}
		}
	}
	return ""
}
