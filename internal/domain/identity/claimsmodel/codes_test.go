package claimsmodel

// Scenarios of devices, whose codes expire.

func sharedCode() scenario {
	return scenario{
		name: "two devices get the same code, which expires, and one is removed",
		changes: [changeCount]change{
			1: {kind: create, record: ann, want: setOf(x), expires: true},
			2: {kind: discard, record: ann},
			3: {kind: create, record: bob, want: setOf(x), expires: true},
		},
		callers:  [][]token{{1, 2}, {3}},
		atLeast:  150_000,
		conflict: []token{1, 3},
		reaches: []sight{
			{"bob takes over the code, and ann keeps living with it", func(s *state) bool {
				return s.rows[ann].held[x] == 1 && s.rows[bob].held[x] == 3 && s.claims[x].token == 3 && !past(s, 3)
			}},
			{"so he does while ann's own bucket takes the code for good", func(s *state) bool {
				return s.rows[ann].held[x] == 1 && s.rows[bob].held[x] == 3 && !s.runs[1].lapsed
			}},
			{"ann is removed when the code is bob's", func(s *state) bool {
				return s.runs[2].answer == success && s.claims[x].token == 3 && !past(s, 3)
			}},
			{"bob is refused a code in force", func(s *state) bool {
				return s.runs[3].answer == failure && s.claims[x].token == 1 && !past(s, 1)
			}},
			{"ann is made with a code that has expired, without a claim", func(s *state) bool {
				return s.rows[ann].held[x] == 1 && s.claims[x].token == 3 && !s.runs[1].expired
			}},
		},
	}
}

func otherCode() scenario {
	return scenario{
		name: "a device whose code is taken tries another, and its request is repeated",
		changes: [changeCount]change{
			1: {kind: create, record: bob, want: setOf(x), expires: true},
			2: {kind: create, record: ann, want: setOf(x)},
			3: {kind: create, record: ann, want: setOf(y)},
			4: {kind: create, record: ann, want: setOf(x)},
		},
		given:    []token{1},
		callers:  [][]token{{2, 3}, {4}},
		atLeast:  85_000,
		conflict: []token{2, 4},
		reaches: []sight{
			{"the second attempt succeeds, and the repeated request finds it",
				all(holds(ann, y, 3), told(2, failure), told(4, failure))},
			{"the repeated request gets the first code, free by now", holds(ann, x, 4)},
		},
	}
}
