package claimsmodel

// lateMoves are the messages of change t that arrive while nobody waits for
// them: late, or a second time. Releases are among the helpers' moves.
func (m *model) lateMoves(s *state, t token, try tryMove) {
	run := &s.runs[t]
	if run.posted {
		try(latePrepare, t, 0, func(n *state) {
			n.runs[t].posted = false
			m.prepare(n, t)
		})
	}
	if m.has(prepareTwice) && run.arrived {
		try(preparesAgain, t, 0, func(n *state) { m.prepare(n, t) })
	}
	for k := range key(keyCount) {
		if run.arrived && run.added.has(k) {
			try(lateClaim, t, k, func(n *state) { m.claim(n, t, k) })
		}
	}
	switch {
	case run.asked && m.changes[t].kind == touch:
		try(lateSwap, t, 0, func(n *state) { m.swap(n, t) })
	case run.asked:
		try(lateCommit, t, 0, func(n *state) { m.commit(n, t) })
	}
	// A caller that told no success may abort its own operation before the deadline.
	if run.stage == done && run.answer != success {
		try(callerAborts, t, 0, func(n *state) { m.abort(n, t) })
	}
}

// helperMoves are recovery, by whoever meets change t's operation or a claim of
// its: what the sweep finds from operations, and what it finds from claims.
func (m *model) helperMoves(s *state, t token, try tryMove) {
	m.finishMoves(s, t, try)
	for k := range key(keyCount) {
		m.removeMoves(s, t, k, try)
	}
	if m.changes[t].kind == remove && s.runs[t].happened {
		try(buries, t, 0, func(n *state) { m.bury(n, m.owner(t)) })
	}
}

// finishMoves bring change t's operation to its end: an overdue one is aborted,
// a decided one released and cleared. A release or a clear may arrive again when
// the operation is long gone.
func (m *model) finishMoves(s *state, t token, try tryMove) {
	run, op := &s.runs[t], m.rowOf(s, t).op
	overdue := op.token == t && op.overdue
	if overdue || m.has(abortForgetsPhase) && op.token == t && op.phase == committed {
		try(abortsOverdue, t, 0, func(n *state) { m.abort(n, t) })
	}
	released := true
	for k := range key(keyCount) {
		try(releases, t, k, func(n *state) { m.releaseOwed(n, t, k) })
		if overdue && m.has(abortReleasesFirst) && run.added.has(k) {
			try(releases, t, k, func(n *state) {
				m.release(n, t, k)
				n.runs[t].released |= 1 << k
			})
		}
		if m.owed(s, t, k) != 0 && !run.released.has(k) {
			released = false
		}
	}
	decided := run.aborted || run.happened
	if decided && (released || op.token != t || m.has(clearBeforeRelease)) {
		try(clears, t, 0, func(n *state) { m.clear(n, t) })
	}
}

// removeMoves get rid of change t's claim on k if its owner doesn't know it.
// Reading the claim, reading its owner's row, and removing the claim are three
// moments. The first needs no move: any claim whose prepare has arrived may have
// been read, even if it has gone since.
func (m *model) removeMoves(s *state, t token, k key, try tryMove) {
	run := &s.runs[t]
	if run.arrived && run.added.has(k) && (m.has(judgedByOldRow) || !m.known(s, t, k)) {
		try(judges, t, k, func(n *state) { n.runs[t].condemned |= 1 << k })
	}
	if run.condemned.has(k) {
		try(removes, t, k, func(n *state) {
			if n.claims[k].token == t || m.has(removeWhateverStands) {
				n.claims[k] = claim{}
			}
		})
	}
}

// timeMoves let a moment pass that change t set.
func (m *model) timeMoves(s *state, t token, try tryMove) {
	run, row := &s.runs[t], m.rowOf(s, t)
	if row.op.token == t && row.op.phase == prepared {
		try(deadlinePasses, t, 0, func(n *state) { m.rowOf(n, t).op.overdue = true })
	}
	if m.changes[t].kind == remove && run.happened && row.life == tombstone {
		try(quarantineEnds, t, 0, func(n *state) { n.endQuarantine(m.owner(t)) })
	}
	if m.changes[t].expires && run.arrived {
		try(codeExpires, t, 0, func(n *state) { n.runs[t].expired = true })
	}
}

// endQuarantine lets go of a tombstone's keys: their claims are orphans from now.
func (s *state) endQuarantine(r record) {
	row := &s.rows[r]
	row.life = expiredTombstone
	for k := range key(keyCount) {
		if t := s.claims[k].token; t != 0 && row.held[k] == t {
			s.claims[k].stray = true
		}
	}
}
