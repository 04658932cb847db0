package claimsmodel

// The decisions: each reads and writes one bucket, at one moment.

// prepare persists the proposal of change t on its record's row, before any
// claim exists. It refuses when the row has an operation, when the record is not
// in the state that the change needs, and when no key would change.
func (m *model) prepare(s *state, t token) bool {
	c, row, run := m.changes[t], m.rowOf(s, t), &s.runs[t]
	free := row.op.phase == none || m.has(prepareOverwrites) && row.op.phase != prepared
	fits := row.life == live
	if c.kind == create {
		fits = row.life == absent
	}
	if !free || !fits || c.kind == update && row.keys() == c.want {
		return false
	}
	run.arrived = true
	run.base, run.notes, run.added = row.revision, row.notes, c.want&^row.keys()
	if c.kind == remove {
		run.added = 0 // of the wanted keys, a tombstone keeps what the record held
	}
	for k := range key(keyCount) {
		run.dropped[k] = 0
		if !c.want.has(k) {
			run.dropped[k] = row.held[k]
		}
	}
	row.op = operation{phase: prepared, token: t}
	return true
}

// claim grants key k to change t if the key is free, if the claim that stands is
// this operation's own, or if that claim is of a device code past its expiry.
func (m *model) claim(s *state, t token, k key) bool {
	c := &s.claims[k]
	if c.token == t || m.has(claimByOwner) && c.token != 0 && m.owner(c.token) == m.owner(t) {
		return true
	}
	if c.token != 0 && !s.runs[c.token].expired {
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
	run := &s.runs[t]
	switch {
	case row.op.token != t,
		row.op.phase == committed,
		row.op.phase == aborted && !m.has(commitForgetsPhase),
		row.op.overdue && !m.has(commitForgetsDeadline),
		row.revision != run.base && !m.has(commitForgetsRevision):
		return false
	}
	row.revision++
	row.notes = run.notes
	row.life = live
	if m.changes[t].kind == remove {
		row.life = tombstone
	}
	for k := range key(keyCount) {
		if run.added.has(k) {
			row.held[k] = t
		}
		if run.dropped[k] != 0 {
			row.held[k] = 0
		}
	}
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
	row.op.phase, row.op.overdue = aborted, false
	s.runs[t].aborted = true
}

// release deletes the claim on k if it is the owner's under exactly token t.
func (m *model) release(s *state, t token, k key) {
	c := &s.claims[k]
	if c.token == t || m.has(releaseByOwner) && c.token != 0 && m.owner(c.token) == m.owner(t) {
		*c = claim{}
	}
}

// owed is the claim on k that change t must release once it is decided: its own
// if it was aborted, the old one if it was committed. Zero if there is none.
func (m *model) owed(s *state, t token, k key) token {
	run := &s.runs[t]
	switch {
	case run.aborted && run.added.has(k):
		return t
	case run.happened:
		return run.dropped[k]
	}
	return 0
}

// releaseOwed carries out a release that change t owes, and remembers it while
// the operation waits to be cleared.
func (m *model) releaseOwed(s *state, t token, k key) {
	due := m.owed(s, t, k)
	if due == 0 {
		return
	}
	m.release(s, due, k)
	if op := m.rowOf(s, t).op; op.token == t && op.phase != prepared {
		s.runs[t].released |= 1 << k
	}
}

// clear takes a decided operation off its row.
func (m *model) clear(s *state, t token) {
	op := m.rowOf(s, t).op
	if m.has(clearForgetsToken) && op.phase != none {
		m.leave(s, op.token)
		return
	}
	if op.token == t && op.phase != prepared {
		m.leave(s, t)
	}
}

// leave empties the row's operation, and forgets what only mattered to it.
func (m *model) leave(s *state, t token) {
	row, run := m.rowOf(s, t), &s.runs[t]
	row.op = operation{}
	run.base, run.notes, run.released = 0, 0, 0
}

// swap is a key-preserving update: a compare-and-swap on the revision that the
// caller read, whatever operation is on the row.
func (m *model) swap(s *state, t token) bool {
	row, run := m.rowOf(s, t), &s.runs[t]
	if row.life != live || row.revision != run.base && !m.has(swapForgetsRevision) {
		return false
	}
	if m.has(swapForgetsRevision) {
		row.revision, row.notes = run.base, run.notes
	}
	row.revision++
	row.notes |= 1 << t
	run.happened = true
	if m.has(swapWritesOperation) {
		row.op = run.saw
	}
	return true
}

// known tells whether the owner of token t stands by its claim on key k. What it
// reads is the owner's row alone. The links of an operation carry a token each:
// the new ones the operation's own, the old ones the token that backed them.
func (m *model) known(s *state, t token, k key) bool {
	row := m.rowOf(s, t)
	if m.has(knownByOwner) && (row.life != absent || row.op.phase != none) {
		return true
	}
	same := func(listed token) bool {
		return listed == t || m.has(knownIgnoresToken) && listed != 0
	}
	if row.life != expiredTombstone && same(row.held[k]) {
		return true
	}
	if row.op.phase == none || m.has(knownIgnoresOperation) {
		return false
	}
	run := &s.runs[row.op.token]
	if row.op.phase == committed {
		return same(run.dropped[k]) && !m.has(knownForgetsOld)
	}
	return run.added.has(k) && same(row.op.token)
}

// bury deletes a tombstone whose quarantine is over and whose deletion has been
// finalized. The claim that it held is unknown from then on.
func (m *model) bury(s *state, r record) {
	grave := &s.rows[r]
	if grave.life == expiredTombstone && (grave.op.phase == none || m.has(buryBusy)) {
		*grave = row{}
	}
}

// lookup reads the claim on k, then its owner's record, and answers the owner
// only if the record is live and agrees on key and token. (A record's token can
// only agree with a claim that was read earlier if that claim still stands, so
// reading both at one moment loses no interleaving.)
func (m *model) lookup(s *state, k key) (record, bool) {
	t := s.claims[k].token
	if t == 0 || s.runs[t].expired {
		return 0, false
	}
	row := m.rowOf(s, t)
	switch {
	case row.life != live:
		return 0, false
	case m.has(lookupTrustsClaim):
		return m.owner(t), true
	case m.has(lookupIgnoresToken):
		return m.owner(t), row.held[k] != 0
	}
	return m.owner(t), row.held[k] == t
}
