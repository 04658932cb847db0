package claimsmodel

// scenarios are the worlds to search. Each goes on when its callers are done with
// their scripts, as long as anything is under way.
func scenarios() []scenario {
	return []scenario{
		sameKeys(), spareKeys(), retriedCreation(), repeatedCreation(), rebirth(), // creations
		thereAndBack(), exchange(), chain(), contested(), firstAddress(), // addresses
		rivalChanges(), oneChangeTwice(), touchedChange(), deletion(), // changes of one record
		sharedCode(), otherCode(), // devices
	}
}

// told is a state after the caller of t was told a.
func told(t token, a answer) func(*state) bool {
	return func(s *state) bool { return s.runs[t].answer == a }
}

func all(conditions ...func(*state) bool) func(*state) bool {
	return func(s *state) bool {
		for _, holds := range conditions {
			if !holds(s) {
				return false
			}
		}
		return true
	}
}

// crashed is a caller that stood still with all claims granted until its
// operation was gone.
func crashed(t token, r record) func(*state) bool {
	return func(s *state) bool {
		run := &s.runs[t]
		return run.stage == working && run.granted == run.added && s.rows[r].op.token != t
	}
}

// orphaned is a claim under t that r, its owner, doesn't know.
func orphaned(t token, k key, r record) func(*state) bool {
	return func(s *state) bool {
		row := &s.rows[r]
		return s.claims[k].token == t && row.held[k] != t && row.op.token != t && row.op.phase != committed
	}
}

// holds is a record that holds a key under t.
func holds(r record, k key, t token) func(*state) bool {
	return func(s *state) bool { return s.rows[r].held[k] == t }
}
