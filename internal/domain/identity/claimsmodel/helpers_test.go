package claimsmodel

// lateMoves are the messages of change t that arrive while nobody waits for
// them: late, or a second time. Releases are among the helpers' moves.
func (m *model) lateMoves(s *state, t token, try tryMove) {
	run, c := &s.runs[t], m.changes[t]
	switch {
	case !run.posted:
	case c.kind == create, c.kind == update:
		try(latePrepare, t, 0, func(n *state) {
			n.runs[t].posted = false
			m.prepare(n, t)
		})
	default:
		try(lateDecision, t, 0, func(n *state) {
			n.runs[t].posted = false
			m.decide(n, t)
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
	case run.asked && c.kind == touch:
		try(lateSwap, t, 0, func(n *state) { m.swap(n, t) })
	case run.asked:
		try(lateCommit, t, 0, func(n *state) { m.commit(n, t) })
	}
	if run.answer == failure || run.answer == unknown && m.has(withdrawsInTheDark) {
		m.withdrawMoves(s, t, try)
	}
}

// withdrawMoves call off a change that failed for certain, before its deadline
// too. If its operation is gone, its caller still knows of the claims that it made.
func (m *model) withdrawMoves(s *state, t token, try tryMove) {
	if m.rowOf(s, t).op.token == t {
		try(withdraws, t, 0, func(n *state) { m.abort(n, t) })
		return
	}
	for k := range key(keyCount) {
		if run := &s.runs[t]; run.arrived && run.added.has(k) {
			try(withdrawsClaim, t, k, func(n *state) { m.release(n, t, k) })
		}
	}
}

// helperMoves are recovery, by whoever meets change t's operation or a claim of
// its: what the sweep finds from operations, and what it finds from claims.
func (m *model) helperMoves(s *state, t token, try tryMove) {
	m.finishMoves(s, t, try)
	for k := range key(keyCount) {
		if s.runs[t].added.has(k) {
			m.removeMoves(s, t, k, try)
		}
	}
	if m.changes[t].kind == remove && s.runs[t].happened {
		try(buries, t, 0, func(n *state) { m.bury(n, m.owner(t)) })
	}
}

// finishMoves bring change t's operation to its end: an overdue one is aborted,
// a decided one released and cleared.
func (m *model) finishMoves(s *state, t token, try tryMove) {
	run, op := &s.runs[t], m.rowOf(s, t).op
	if op.token != t && !m.has(clearForgetsToken) {
		return
	}
	if op.overdue || m.has(abortForgetsPhase) && op.phase == committed {
		try(abortsOverdue, t, 0, func(n *state) { m.abort(n, t) })
	}
	released := true
	for k := range key(keyCount) {
		try(releases, t, k, func(n *state) { m.releaseOwed(n, t, k) })
		if op.overdue && m.has(abortReleasesFirst) && run.added.has(k) {
			try(releases, t, k, func(n *state) {
				m.release(n, t, k)
				n.runs[t].released |= 1 << k
			})
		}
		if m.owed(s, t, k) != 0 && !run.released.has(k) {
			released = false
		}
	}
	if released || m.has(clearBeforeRelease) {
		try(clears, t, 0, func(n *state) { m.clear(n, t) })
	}
}

// removeMoves remove change t's claim on k if it is obsolete. The claim was read
// some time before its owner, and is removed some time after it, but neither needs
// a moment of its own: any claim whose prepare has arrived may have been read, even
// if it has gone since, and one that is obsolete is so for good (see forGood).
func (m *model) removeMoves(s *state, t token, k key, try tryMove) {
	if m.slowReaders && m.misses(s, t, k) {
		try(misses, t, k, func(n *state) { n.runs[t].missed |= 1 << k })
	}
	if m.obsolete(s, t, k) {
		try(removes, t, k, func(n *state) { m.release(n, t, k) })
	}
}
