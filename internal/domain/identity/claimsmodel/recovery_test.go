package claimsmodel

import "fmt"

// unrecovered runs recovery from s with all callers stopped and no message under
// way, then the cleanup after all quarantines.
func (m *model) unrecovered(s *state) string {
	n := *s
	if wrong := m.recover(&n); wrong != "" {
		return wrong
	}
	for r := range record(recordCount) {
		if n.rows[r].content != s.rows[r].content {
			return fmt.Sprintf("recovery changed %v", r)
		}
		if n.rows[r].life == tombstone {
			m.endQuarantine(&n, r)
		}
		m.bury(&n, r)
	}
	return m.recover(&n)
}

// recover finishes each operation as if its deadline had passed, removes the
// claims that are obsolete, and says what is left that should not be.
func (m *model) recover(s *state) string {
	for r := range record(recordCount) {
		t := s.rows[r].op.token
		if t == 0 {
			continue
		}
		if s.rows[r].op.phase == prepared {
			m.abort(s, t)
		}
		for k := range key(keyCount) {
			m.releaseOwed(s, t, k)
		}
		m.clear(s, t)
		if s.rows[r].op.phase != none {
			return fmt.Sprintf("%v still has an operation", r)
		}
	}
	for k := range key(keyCount) {
		t := s.claims[k].token
		if t != 0 && m.obsolete(s, t, k) {
			s.claims[k], t = claim{}, 0
		}
		if row := m.rowOf(s, t); t != 0 && (row.held[k] != t || row.life != live && row.life != tombstone || past(s, t)) {
			return fmt.Sprintf("the claim of t%d keeps %v from everybody", t, k)
		}
	}
	return m.unbackedKey(s)
}
