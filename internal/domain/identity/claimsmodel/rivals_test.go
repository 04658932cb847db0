package claimsmodel

// Scenarios of several changes of one account at once.

func rivalChanges() scenario {
	return scenario{
		name: "ann begins two changes, is touched, and loses her address",
		changes: [changeCount]change{
			1: {kind: create, record: ann, want: setOf(x)},
			2: {kind: update, record: ann, want: setOf(y)},
			3: {kind: update, record: ann, want: setOf(z)},
			4: {kind: drop, record: ann, want: setOf()},
			5: {kind: touch, record: ann},
		},
		given:   []token{1},
		callers: [][]token{{2, 4}, {3, 5}},
		atLeast: 170_000,
		reaches: []sight{
			{"all four", all(told(2, success), told(3, success), told(4, success), told(5, success))},
			{"the second replaces the first, which is prepared", func(s *state) bool {
				return s.rows[ann].op.token == 2 && s.rows[ann].op.phase == prepared && s.rows[ann].pending == 3
			}},
			{"a helper finished ann's move and a later revision landed before its caller went on", func(s *state) bool {
				return s.runs[2].stage == settling && s.rows[ann].op.token != 2 && s.rows[ann].revision == 3
			}},
			{"so much later that nothing of it is left", func(s *state) bool {
				return s.runs[2].stage == settling && s.rows[ann].held[z] == 3 && s.rows[ann].op == operation{}
			}},
		},
	}
}

func oneChangeTwice() scenario {
	return scenario{
		name: "one change of ann's is confirmed twice at once, and cancelled",
		changes: [changeCount]change{
			1: {kind: create, record: ann, want: setOf(x)},
			2: {kind: update, record: ann, want: setOf(y)},
			3: {kind: update, record: ann, want: setOf(y), of: 2},
			4: {kind: cancel, record: ann, of: 2},
		},
		given:    []token{1},
		callers:  [][]token{{2}, {3}, {4}},
		atLeast:  9_000,
		conflict: []token{2, 3},
		reaches: []sight{
			{"the first confirmation fails, the second succeeds", all(told(2, failure), told(3, success))},
			{"the change is cancelled with all claims granted", func(s *state) bool {
				return s.runs[4].answer == success && s.runs[2].granted == setOf(y) && s.rows[ann].op.token == 2
			}},
			{"a claim of the first stands in the second's way", func(s *state) bool {
				return s.rows[ann].op.token == 3 && orphaned(2, y, ann)(s)
			}},
		},
	}
}

func touchedChange() scenario {
	return scenario{
		name: "ann is disabled while she moves, then deleted",
		changes: [changeCount]change{
			1: {kind: create, record: ann, want: setOf(x)},
			2: {kind: update, record: ann, want: setOf(y)},
			3: {kind: touch, record: ann},
			4: {kind: touch, record: ann},
			5: {kind: remove, record: ann, want: setOf(x)},
		},
		given:   []token{1},
		callers: [][]token{{2, 4}, {3, 5}},
		atLeast: 53_000,
		reaches: []sight{
			{"the move is stale, since she was disabled meanwhile", func(s *state) bool {
				run := &s.runs[2]
				return s.rows[ann].op.token == 2 && s.runs[3].answer == success && s.rows[ann].revision > run.base &&
					run.granted == setOf(y)
			}},
			{"both", all(told(2, success), told(3, success), told(4, success))},
			{"a touch meets a touch", all(told(3, success), told(4, failure))},
		},
	}
}

func deletion() scenario {
	return scenario{
		name: "bob wants the keys of ann, who moves and is deleted",
		changes: [changeCount]change{
			1: {kind: create, record: ann, want: setOf(x)},
			2: {kind: update, record: ann, want: setOf(y)},
			3: {kind: remove, record: ann, want: setOf(y)},
			4: {kind: create, record: bob, want: setOf(x)},
			5: {kind: update, record: bob, want: setOf(y)},
		},
		given:    []token{1},
		callers:  [][]token{{2, 3}, {4, 5}},
		atLeast:  100_000,
		conflict: []token{4, 5},
		reaches: []sight{
			{"bob is refused a key in quarantine", func(s *state) bool {
				return s.rows[ann].life == tombstone && s.runs[5].answer == failure && s.rows[ann].held[y] == 2
			}},
			{"bob gets the key when it is over", func(s *state) bool {
				return s.runs[3].happened && s.runs[5].answer == success && s.rows[bob].held[y] == 5
			}},
			{"nothing is left of ann", func(s *state) bool {
				return s.runs[3].happened && s.rows[ann] == row{} && s.rows[bob].held[y] == 5
			}},
		},
	}
}
