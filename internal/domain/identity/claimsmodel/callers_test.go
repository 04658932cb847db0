package claimsmodel

// tell ends a change for its caller.
func tell(s *state, t token, a answer) {
	run := &s.runs[t]
	run.stage, run.answer, run.granted = done, a, 0
}

// callerMoves are what the caller of change t may do next. Stopping for ever is
// always among them, and needs no move.
func (m *model) callerMoves(s *state, t token, try tryMove) {
	switch run := &s.runs[t]; {
	case m.changes[t].kind == touch:
		m.touchMoves(s, t, try)
	case run.stage == idle:
		m.prepareMoves(t, try)
	case run.stage == begun:
		m.claimMoves(s, t, try)
		if run.granted == run.added || m.has(commitForgetsGrants) {
			m.commitMoves(t, try)
		}
		try(givesUp, t, 0, func(n *state) { tell(n, t, failure) })
	case run.stage == waiting:
		try(asksAgain, t, 0, func(n *state) { m.askAgain(n, t) })
		try(settles, t, 0, func(n *state) {
			m.abort(n, t)
			m.conclude(n, t)
		})
		try(givesUp, t, 0, func(n *state) { tell(n, t, unknown) })
	}
}

func (m *model) prepareMoves(t token, try tryMove) {
	try(prepares, t, 0, func(n *state) {
		if m.prepare(n, t) {
			n.runs[t].stage = begun
		}
	})
	try(prepareRefused, t, 0, func(n *state) {
		if attempt := *n; !m.prepare(&attempt, t) {
			tell(n, t, failure)
		}
	})
	try(leavesPrepare, t, 0, func(n *state) {
		n.runs[t].posted = true
		tell(n, t, failure) // certain: it will never ask for a commit
	})
}

// claimMoves are the claims that were not granted yet, side by side. A refused
// caller may fail, or ask again when something has changed.
func (m *model) claimMoves(s *state, t token, try tryMove) {
	run := &s.runs[t]
	for k := range key(keyCount) {
		if !run.added.has(k) || run.granted.has(k) {
			continue
		}
		try(claims, t, k, func(n *state) {
			if m.claim(n, t, k) {
				n.runs[t].granted |= 1 << k
			}
		})
		try(claimRefused, t, k, func(n *state) {
			if attempt := *n; !m.claim(&attempt, t, k) {
				tell(n, t, failure)
			}
		})
	}
}

// commitMoves are the ways in which a first commit may go.
func (m *model) commitMoves(t token, try tryMove) {
	try(commits, t, 0, func(n *state) {
		if m.commit(n, t) {
			n.runs[t].asked = true
			tell(n, t, success)
		}
	})
	try(commitRefused, t, 0, func(n *state) {
		if attempt := *n; !m.commit(&attempt, t) {
			n.runs[t].asked = true
			tell(n, t, failure) // certain: what refused it refuses it for good
		}
	})
	try(losesCommit, t, 0, func(n *state) {
		n.runs[t].stage, n.runs[t].asked = waiting, true
	})
}

// askAgain repeats a commit whose answer was lost.
func (m *model) askAgain(s *state, t token) {
	if m.commit(s, t) {
		tell(s, t, success)
		return
	}
	m.conclude(s, t)
}

// conclude tells what the record's row proves after a commit whose answer was
// lost. An operation that is there and can't commit any more never did; one that
// is gone may have gone either way, unless the record holds a key under its
// token, which only its commit can have written.
func (m *model) conclude(s *state, t token) {
	row := m.rowOf(s, t)
	proven := unknown
	if m.has(absenceMeansFailure) {
		proven = failure
	}
	if row.op.token == t {
		proven = failure
		if row.op.phase == committed {
			proven = success
		}
	}
	for k := range key(keyCount) {
		if row.held[k] == t {
			proven = success
		}
	}
	tell(s, t, proven)
}

// touchMoves are those of a key-preserving update: read, then compare and swap.
func (m *model) touchMoves(s *state, t token, try tryMove) {
	row := m.rowOf(s, t)
	switch {
	case s.runs[t].stage == begun:
		m.swapMoves(t, try)
	case row.life != live:
		try(swapRefused, t, 0, func(n *state) { tell(n, t, failure) })
	default:
		try(reads, t, 0, func(n *state) {
			run := &n.runs[t]
			run.stage, run.base = begun, row.revision
			if m.has(swapForgetsRevision) {
				run.notes = row.notes
			}
			if m.has(swapWritesOperation) {
				run.saw = row.op
			}
		})
	}
}

func (m *model) swapMoves(t token, try tryMove) {
	try(swaps, t, 0, func(n *state) {
		if m.swap(n, t) {
			n.runs[t].asked = true
			tell(n, t, success)
		}
	})
	try(swapRefused, t, 0, func(n *state) {
		if attempt := *n; !m.swap(&attempt, t) {
			n.runs[t].asked = true
			tell(n, t, failure)
		}
	})
	try(losesSwap, t, 0, func(n *state) {
		n.runs[t].asked = true
		tell(n, t, unknown)
	})
}
