package claimsmodel

// tell ends a change for its caller.
func tell(s *state, t token, a answer) {
	run := &s.runs[t]
	run.stage, run.answer, run.granted = done, a, 0
}

// hear is a caller that heard of its success. It tells so when it has cleaned up
// what is to be cleaned up, by itself or by others.
func (m *model) hear(s *state, t token) {
	if s.runs[t].dropped == [keyCount]token{} {
		tell(s, t, success)
		return
	}
	s.runs[t].stage, s.runs[t].granted = settling, 0
}

// callerMoves are what the caller of change t may do next. Stopping for ever is
// always among them, and needs no move.
func (m *model) callerMoves(s *state, t token, try tryMove) {
	run, c := &s.runs[t], m.changes[t]
	switch {
	case run.stage == settling:
		try(reports, t, 0, func(n *state) { m.report(n, t) })
	case c.kind == touch:
		m.touchMoves(s, t, try)
	case c.kind == cancel, c.kind == drop, c.kind == remove, c.kind == discard:
		m.oneshotMoves(s, t, try)
	case run.stage == idle && c.kind == update && c.of == 0:
		m.beginMoves(t, try)
	case run.stage == idle, run.stage == wishing:
		m.prepareMoves(t, try)
	case run.stage == inVain:
		try(takesBack, t, 0, func(n *state) {
			m.takeBack(n, t)
			tell(n, t, failure)
		})
	case run.stage == working:
		m.claimMoves(s, t, try)
		// A code that has expired needs no claim: anybody may have it.
		if run.granted == run.added || run.lapsed || m.has(commitForgetsGrants) {
			m.commitMoves(t, try)
		}
		try(givesUp, t, 0, func(n *state) { tell(n, t, failure) })
	}
}

// report tells a success that was heard, whatever became of the operation and of
// the record since.
func (m *model) report(s *state, t token) {
	row := m.rowOf(s, t)
	found := row.op.token == t
	for _, held := range row.held {
		found = found || held == t
	}
	if m.has(reportsWhatItFinds) && !found {
		tell(s, t, failure)
		return
	}
	tell(s, t, success)
}

func (m *model) beginMoves(t token, try tryMove) {
	try(begins, t, 0, func(n *state) {
		if m.begin(n, t) {
			n.runs[t].stage = wishing
		}
	})
	try(beginRefused, t, 0, func(n *state) {
		if attempt := *n; !m.begin(&attempt, t) {
			tell(n, t, failure)
		}
	})
}

func (m *model) prepareMoves(t token, try tryMove) {
	try(prepares, t, 0, func(n *state) {
		if !m.prepare(n, t) {
			return
		}
		n.runs[t].stage = working
		if !n.runs[t].arrived {
			n.runs[t].stage = inVain
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

// commitMoves are the ways in which a commit may go. It is sent once.
func (m *model) commitMoves(t token, try tryMove) {
	try(commits, t, 0, func(n *state) {
		if m.commit(n, t) {
			n.runs[t].asked = true
			m.hear(n, t)
		}
	})
	try(commitRefused, t, 0, func(n *state) {
		if attempt := *n; !m.commit(&attempt, t) {
			n.runs[t].asked = true
			tell(n, t, failure) // certain: what refused it refuses it for good
		}
	})
	try(losesCommit, t, 0, func(n *state) {
		n.runs[t].asked = true
		tell(n, t, m.inTheDark())
	})
}

// inTheDark is what a caller is told whose answer was lost.
func (m *model) inTheDark() answer {
	if m.has(darkMeansFailure) {
		return failure
	}
	return unknown
}

func (m *model) oneshotMoves(s *state, t token, try tryMove) {
	if m.changes[t].kind == discard && m.has(discardReleasesFirst) {
		for k, held := range m.rowOf(s, t).held {
			if held != 0 {
				try(releases, t, key(k), func(n *state) { m.release(n, held, key(k)) })
			}
		}
	}
	try(decides, t, 0, func(n *state) {
		if m.decide(n, t) {
			m.hear(n, t)
		}
	})
	try(decisionRefused, t, 0, func(n *state) {
		if attempt := *n; !m.decide(&attempt, t) {
			tell(n, t, failure)
		}
	})
	try(losesDecision, t, 0, func(n *state) {
		n.runs[t].posted = true
		tell(n, t, m.inTheDark())
	})
}

// touchMoves are those of a key-preserving update: read, then compare and swap.
func (m *model) touchMoves(s *state, t token, try tryMove) {
	row := m.rowOf(s, t)
	switch {
	case s.runs[t].stage == working:
		m.swapMoves(t, try)
	case row.life != live:
		try(swapRefused, t, 0, func(n *state) { tell(n, t, failure) })
	default:
		try(reads, t, 0, func(n *state) {
			run := &n.runs[t]
			run.stage, run.base = working, row.revision
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
		tell(n, t, m.inTheDark())
	})
}
