package claimsmodel

// The decisions that make a change all at once, in the record's own bucket.

// decide makes a change of such a kind, and tells whether it did.
func (m *model) decide(s *state, t token) bool {
	switch m.changes[t].kind {
	case cancel:
		return m.cancel(s, t)
	case discard:
		return m.discard(s, t)
	default:
		return m.take(s, t)
	}
}

// begin makes change t the record's pending change, in the place of another.
func (m *model) begin(s *state, t token) bool {
	row := m.rowOf(s, t)
	if row.life != live {
		return false
	}
	row.pending, row.cleared = t, operation{}
	return true
}

// cancel ends the pending change that another began.
func (m *model) cancel(s *state, t token) bool {
	row := m.rowOf(s, t)
	if row.life != live || row.pending != m.changes[t].of {
		return false
	}
	row.pending, row.cleared = 0, operation{}
	s.runs[t].happened = true
	return true
}

// take takes the keys that are not wanted off the record, and ends its life if it
// is to be removed. What claims nothing has its prepare and its commit in one: the
// operation stands from then on as committed, while the old claims do. A removal
// that drops no key goes through whatever operation is on the row.
func (m *model) take(s *state, t token) bool {
	c, row, run := m.changes[t], m.rowOf(s, t), &s.runs[t]
	drops := row.keys() &^ c.want
	if row.life != live || drops == 0 && c.kind == drop || drops != 0 && !m.gives(row.op) {
		return false
	}
	row.revision++
	if drops != 0 {
		m.replace(s, row, operation{phase: committed, token: t})
	}
	for k := range key(keyCount) {
		if drops.has(k) {
			run.dropped[k], row.held[k] = row.held[k], 0
		}
	}
	if c.kind == remove {
		row.life, row.pending = tombstone, 0
	}
	row.cleared = operation{}
	run.happened = true
	return true
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
	row.cleared = operation{}
	run.happened = true
	if m.has(swapWritesOperation) {
		row.op = run.saw
	}
	return true
}

// discard deletes the record. The claims that it held are unknown from then on, and
// only then released.
func (m *model) discard(s *state, t token) bool {
	row := m.rowOf(s, t)
	if row.life != live {
		return false
	}
	m.disown(s, m.owner(t))
	row.content, row.pending, row.cleared = content{life: removed}, 0, operation{}
	s.runs[t].happened = true
	return true
}

// bury deletes a tombstone whose quarantine is over. An operation on the row stays
// until somebody finishes it.
func (m *model) bury(s *state, r record) {
	grave := &s.rows[r]
	if grave.life != expiredTombstone {
		return
	}
	grave.content, grave.cleared = content{}, operation{}
	if m.has(buriesOperation) {
		grave.op = operation{}
	}
}

// disown makes the claims that back a record's keys orphans from now.
func (m *model) disown(s *state, r record) {
	for k := range key(keyCount) {
		if t := s.claims[k].token; t != 0 && s.rows[r].held[k] == t {
			s.claims[k].stray = true
		}
	}
}
