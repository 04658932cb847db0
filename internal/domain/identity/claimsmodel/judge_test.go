package claimsmodel

// What the readers of a claim make of it.

// lists tells whether the operation on its owner's row stands by the claim of
// token t on key k. The links of an operation carry a token each: the new ones the
// operation's own, the old ones the token that backed them.
func (m *model) lists(s *state, t token, k key) bool {
	op := m.rowOf(s, t).op
	if op.phase == none || m.has(knownIgnoresOperation) {
		return false
	}
	run := &s.runs[op.token]
	if op.phase == committed {
		return m.same(run.dropped[k], t) && !m.has(knownForgetsOld)
	}
	return run.added.has(k) && m.same(op.token, t)
}

// stands tells whether the owner's record stands by the claim of token t on key k:
// it holds the key under that token, by a code that has not expired if it is one,
// and its quarantine is not over if it is a tombstone.
func (m *model) stands(s *state, t token, k key) bool {
	row := m.rowOf(s, t)
	if m.has(knownByOwner) && row.life != absent {
		return true
	}
	return (row.life == live || row.life == tombstone) && m.same(row.held[k], t) && (!s.runs[t].lapsed || m.has(standsBeyondExpiry))
}

func (m *model) same(listed, t token) bool {
	return listed == t || m.has(knownIgnoresToken) && listed != 0
}

// obsolete tells whether the claim of token t on key k is anybody's to remove: a
// device code's past its expiry is, whoever holds it, and so is a claim that its
// owner doesn't know. The owner's operation is read before its record, since a
// commit in between moves the claim from one to the other.
func (m *model) obsolete(s *state, t token, k key) bool {
	switch run := &s.runs[t]; {
	case run.expired, m.has(replacesUnexpired) && m.changes[t].expires, m.has(judgedByOldRow):
		return true
	case run.missed.has(k):
		return m.disowns(s, t, k)
	}
	return m.misses(s, t, k) && m.disowns(s, t, k)
}

// misses is the first half of a reading of the owner's row that doesn't find the
// claim, and disowns the second.
func (m *model) misses(s *state, t token, k key) bool {
	if m.has(readsRecordFirst) {
		return !m.stands(s, t, k)
	}
	return !m.lists(s, t, k)
}

func (m *model) disowns(s *state, t token, k key) bool {
	if m.has(readsRecordFirst) {
		return !m.lists(s, t, k)
	}
	return !m.stands(s, t, k)
}

// lookup reads the claim on k, then its owner's record, and answers the owner
// only if the record is live and agrees on key and token. (A record's token can
// only agree with a claim that was read earlier if that claim still stands, or
// has expired by its own bucket since, so reading both at one moment loses
// nothing.)
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
		return m.owner(t), row.held[k] != 0 && !s.runs[t].lapsed
	}
	return m.owner(t), m.stands(s, t, k)
}
