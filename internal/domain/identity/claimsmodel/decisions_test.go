package claimsmodel

// The decisions of a change that claims keys: each reads and writes one bucket,
// at one moment. Those that make a change all at once are in oneshot_test.go.

// prepare persists the proposal of change t on its record's row, before any
// claim exists. It refuses when the row has an operation, when the record is not
// in the state that the change needs, and when no key would be new.
func (m *model) prepare(s *state, t token) bool {
	if m.changes[t].kind == create {
		return m.prepareCreation(s, t)
	}
	c, row, run := m.changes[t], m.rowOf(s, t), &s.runs[t]
	if row.life != live || row.pending != m.pendingOf(t) || c.want&^row.keys() == 0 || !m.gives(row.op) {
		return false
	}
	run.arrived = true
	run.base, run.added = row.revision, c.want&^row.keys()
	for k := range key(keyCount) {
		run.dropped[k] = 0
		if !c.want.has(k) {
			run.dropped[k] = row.held[k]
		}
	}
	m.replace(s, row, operation{phase: prepared, token: t})
	return true
}

// prepareCreation does so beside a record that exists too. It looks only then,
// and a caller that finds the record has prepared in vain: it claims nothing.
func (m *model) prepareCreation(s *state, t token) bool {
	row, run := m.rowOf(s, t), &s.runs[t]
	if row.op.phase != none && !(m.has(prepareOverwrites) && row.op.phase != prepared) {
		return false
	}
	run.arrived = row.life == absent || row.life == removed || m.has(vainGoesOn)
	run.added = m.changes[t].want
	row.op = operation{phase: prepared, token: t} // not synced: what was cleared may still come back
	return true
}

// gives tells whether another operation may take the place of this one. A creation
// beside a record that exists was prepared in vain, and is nobody's.
func (m *model) gives(op operation) bool {
	switch {
	case op.phase == none, m.creates(op):
		return true
	case op.phase == prepared:
		return m.has(replacesPrepared)
	default:
		return m.has(prepareOverwrites)
	}
}

// replace puts an operation on the row, in the place of what gives way.
func (m *model) replace(s *state, row *row, op operation) {
	if row.op.phase != none {
		m.leave(s, row.op.token)
	}
	row.op, row.cleared = op, operation{}
}

// claim grants key k to change t if the key is free, or if the claim that stands
// is this operation's own.
func (m *model) claim(s *state, t token, k key) bool {
	c := &s.claims[k]
	if c.token == t || m.has(claimByOwner) && c.token != 0 && m.owner(c.token) == m.owner(t) {
		return true
	}
	if c.token != 0 {
		return false
	}
	op := m.rowOf(s, t).op
	*c = claim{token: t, stray: op.token != t || op.phase != prepared}
	return true
}

// commit writes the proposed record with its revision and its claims' tokens.
// It is the only commit point.
func (m *model) commit(s *state, t token) bool {
	row := m.rowOf(s, t)
	if m.has(commitForgetsToken) && row.op.phase == prepared {
		t = row.op.token
	}
	run, c, from := &s.runs[t], m.changes[t], live
	if c.kind == create {
		from = absent
	}
	switch {
	case row.op.token != t,
		row.op.phase == committed,
		row.op.phase == aborted && !m.has(commitForgetsPhase),
		row.op.overdue && !m.has(commitForgetsDeadline),
		row.life != from && !m.has(commitForgetsLife),
		row.revision != run.base && !m.has(commitForgetsRevision),
		c.kind == update && row.pending != m.pendingOf(t) && !m.has(commitForgetsPending):
		return false
	}
	row.revision, row.life = run.base+1, live
	for k := range key(keyCount) {
		if run.added.has(k) {
			row.held[k] = t
		}
		if run.dropped[k] != 0 {
			row.held[k] = 0
		}
	}
	row.pending, row.cleared = 0, operation{}
	run.happened = true
	row.op.phase, row.op.overdue = committed, false
	if run.dropped == [keyCount]token{} {
		m.leave(s, t) // nothing to release: the commit finalizes too
	}
	return true
}

// abort turns a prepared operation into an aborted one, which no commit passes.
func (m *model) abort(s *state, t token) {
	row := m.rowOf(s, t)
	if row.op.token != t || row.op.phase != prepared && !m.has(abortForgetsPhase) {
		return
	}
	row.op.phase, row.cleared = aborted, operation{}
	if !m.has(abortUnsynced) {
		row.op.overdue = false
	}
}

// release deletes the claim on k if it is the owner's under exactly token t.
func (m *model) release(s *state, t token, k key) {
	c := &s.claims[k]
	switch {
	case c.token == t, m.has(releaseByKey),
		m.has(releaseByOwner) && c.token != 0 && m.owner(c.token) == m.owner(t):
		*c = claim{}
	}
}

// owed is the claim on k that the operation of change t must release once it is
// decided: its own if it was aborted, the old one if it was committed. Zero if
// there is none.
func (m *model) owed(s *state, t token, k key) token {
	op, run := m.rowOf(s, t).op, &s.runs[t]
	switch {
	case op.token != t:
	case op.phase == aborted && run.added.has(k):
		return t
	case op.phase == committed:
		return run.dropped[k]
	}
	return 0
}

// releaseOwed carries out a release that an operation owes, and remembers it while
// the operation waits to be cleared. (What arrives later still is the removal of a
// claim that nobody needs.)
func (m *model) releaseOwed(s *state, t token, k key) {
	if due := m.owed(s, t, k); due != 0 {
		m.release(s, due, k)
		s.runs[t].released |= 1 << k
	}
}

// clear takes a decided operation off its row.
func (m *model) clear(s *state, t token) {
	op := m.rowOf(s, t).op
	if op.phase != none && (m.has(clearForgetsToken) || op.token == t && op.phase != prepared) {
		m.takeOff(s, op)
	}
}

// takeBack takes an operation off its row that was prepared in vain.
func (m *model) takeBack(s *state, t token) {
	op := m.rowOf(s, t).op
	if op.phase == prepared && (op.token == t || m.has(takeBackForgetsToken)) {
		m.takeOff(s, op)
	}
}

// takeOff clears an operation without waiting for the disk.
func (m *model) takeOff(s *state, op operation) {
	m.rowOf(s, op.token).cleared = op
	m.leave(s, op.token)
}

// leave empties the row's operation.
func (m *model) leave(s *state, t token) {
	m.rowOf(s, t).op = operation{}
	s.runs[t].base, s.runs[t].released = 0, 0
}
