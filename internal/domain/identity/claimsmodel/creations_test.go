package claimsmodel

// Scenarios of accounts that come into being.

func sameKeys() scenario {
	return scenario{
		name: "two creations want the same two keys",
		changes: [changeCount]change{
			1: {kind: create, record: ann, want: setOf(x, y)},
			2: {kind: create, record: bob, want: setOf(x, y)},
		},
		callers:  [][]token{{1}, {2}},
		atLeast:  28_000,
		conflict: []token{1, 2},
		reaches: []sight{
			{"ann wins", all(told(1, success), told(2, failure))},
			{"bob wins after ann crashed between claim and commit", all(crashed(1, ann), told(2, success))},
			{"each holds a key that the other wants", func(s *state) bool {
				return s.runs[1].granted == setOf(x) && s.runs[2].granted == setOf(y)
			}},
			{"a claim of ann's arrived after her operation was cleared", orphaned(1, x, ann)},
			{"nobody knows how ann's went, though it succeeded", func(s *state) bool {
				return s.runs[1].answer == unknown && s.runs[1].happened
			}},
			{"ann has all claims, and a crash took her operation", func(s *state) bool {
				return s.runs[1].stage == working && s.runs[1].granted == setOf(x, y) && s.rows[ann].op == operation{}
			}},
		},
	}
}

func spareKeys() scenario {
	return scenario{
		name: "a loser's other key is free for a third",
		changes: [changeCount]change{
			1: {kind: create, record: ann, want: setOf(x, y)},
			2: {kind: create, record: bob, want: setOf(x)},
			3: {kind: create, record: cid, want: setOf(y)},
		},
		callers:  [][]token{{1}, {2, 3}},
		atLeast:  250_000,
		conflict: []token{1, 2, 3},
		reaches: []sight{
			{"ann loses x, and cid gets the y that she had claimed",
				all(told(1, failure), told(2, success), told(3, success))},
			{"ann wins both", all(told(1, success), told(2, failure), told(3, failure))},
		},
	}
}

func retriedCreation() scenario {
	return scenario{
		name: "a creation is sent again under the same id",
		changes: [changeCount]change{
			1: {kind: create, record: ann, want: setOf(x, y)},
			2: {kind: create, record: ann, want: setOf(x, y)},
			3: {kind: create, record: bob, want: setOf(y)},
		},
		callers:  [][]token{{1, 2}, {3}},
		atLeast:  150_000,
		conflict: []token{1, 2, 3},
		reaches: []sight{
			{"the first was not known to succeed, and the retry met it", func(s *state) bool {
				return s.runs[1].answer == unknown && s.runs[1].happened && s.runs[2].answer == failure
			}},
			{"the retry succeeds", all(told(1, failure), told(2, success), told(3, failure))},
			{"an orphan of the first stands in the retry's way", func(s *state) bool {
				return orphaned(1, x, ann)(s) && s.rows[ann].op.token == 2
			}},
			{"the retry was lost in a crash with the clearing of the first", func(s *state) bool {
				return s.runs[2].granted != 0 && s.rows[ann].op == operation{phase: aborted, token: 1}
			}},
		},
	}
}

func repeatedCreation() scenario {
	return scenario{
		name: "ann's creation is repeated while she moves and is deleted",
		changes: [changeCount]change{
			1: {kind: create, record: ann, want: setOf(x)},
			2: {kind: create, record: ann, want: setOf(x)},
			3: {kind: update, record: ann, want: setOf(y)},
			4: {kind: remove, record: ann, want: setOf()},
		},
		given:   []token{1},
		callers: [][]token{{2}, {3}, {4}},
		atLeast: 24_000,
		reaches: []sight{
			{"the change takes the place of what was prepared in vain", func(s *state) bool {
				return s.runs[2].stage == inVain && s.rows[ann].op.token == 3
			}},
			{"the deletion takes its place", func(s *state) bool {
				return s.runs[2].stage == inVain && s.rows[ann].op.token == 4
			}},
			{"a crash brings it back", func(s *state) bool {
				return s.runs[2].answer == failure && s.rows[ann].op.token == 2 && s.rows[ann].life == tombstone
			}},
		},
	}
}

func rebirth() scenario {
	return scenario{
		name: "ann is deleted, forgotten and created again beside bob",
		changes: [changeCount]change{
			1: {kind: create, record: ann, want: setOf(x, y)},
			2: {kind: remove, record: ann, want: setOf(x)},
			3: {kind: create, record: ann, want: setOf(x)},
			4: {kind: create, record: bob, want: setOf(x, y)},
		},
		given:    []token{1},
		callers:  [][]token{{2, 3}, {4}},
		sure:     []token{2},
		atLeast:  130_000,
		conflict: []token{3, 4},
		reaches: []sight{
			{"ann lives again under a new token", holds(ann, x, 3)},
			{"ann's old claim is back as an orphan", func(s *state) bool {
				return s.rows[ann].held[x] == 3 && s.claims[y].token == 1
			}},
			{"bob took both", all(told(2, success), told(4, success))},
		},
	}
}
