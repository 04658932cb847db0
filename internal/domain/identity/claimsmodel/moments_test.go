package claimsmodel

// timeMoves let a moment pass that change t set. A key's bucket and a record's
// may lie on two databases, whose clocks let a code expire at two moments.
func (m *model) timeMoves(s *state, t token, try tryMove) {
	run, row := &s.runs[t], m.rowOf(s, t)
	if row.op.token == t && row.op.phase == prepared {
		try(deadlinePasses, t, 0, func(n *state) { m.rowOf(n, t).op.overdue = true })
	}
	if m.changes[t].kind == remove && run.happened && row.life == tombstone {
		try(quarantineEnds, t, 0, func(n *state) { m.endQuarantine(n, m.owner(t)) })
	}
	if m.changes[t].expires {
		try(codeExpires, t, 0, func(n *state) { n.runs[t].expired = true })
		try(codeLapses, t, 0, func(n *state) { n.runs[t].lapsed = true })
	}
}

// endQuarantine lets go of a tombstone's keys: their claims are orphans from now.
func (m *model) endQuarantine(s *state, r record) {
	s.rows[r].life = expiredTombstone
	m.disown(s, r)
}

// lossMoves are what a database loses in a crash of its own: a step of change t that
// didn't wait for the disk and has no synced one behind it on the same row.
//
//   - A prepared creation, whose caller goes on.
//   - The clearing of an operation, which comes back; with it is lost a creation that
//     was prepared behind it.
//   - A release, whose claim comes back. It needs no move: that is a claim that
//     arrives again.
func (m *model) lossMoves(s *state, t token, try tryMove) {
	row := m.rowOf(s, t)
	if row.op.token == t && row.op.phase == prepared && m.creates(row.op) {
		try(prepareLost, t, 0, func(n *state) { m.losePrepare(n, t) })
	}
	if row.cleared.token == t && (row.op.phase == none || row.op.phase == prepared && m.creates(row.op)) {
		try(clearLost, t, 0, func(n *state) {
			if row.op.phase != none {
				m.losePrepare(n, row.op.token)
			}
			back := m.rowOf(n, t)
			back.op, back.cleared = back.cleared, operation{}
		})
	}
	if m.has(abortUnsynced) && row.op.token == t && row.op.phase == aborted {
		try(abortLost, t, 0, func(n *state) { m.rowOf(n, t).op.phase = prepared })
	}
	if m.has(claimUnsynced) && row.op.token == t && row.op.phase == prepared {
		for k := range key(keyCount) {
			if s.claims[k].token == t {
				try(claimLost, t, k, func(n *state) { n.claims[k] = claim{} })
			}
		}
	}
}

// losePrepare takes a prepared creation off its row as if it had never been there.
// Its claims are orphans from now.
func (m *model) losePrepare(s *state, t token) {
	m.leave(s, t)
	for k := range key(keyCount) {
		if s.claims[k].token == t {
			s.claims[k].stray = true
		}
	}
}
