package claimsmodel

// scenarios are the worlds to search. Each has two callers, and goes on when both
// are done with their scripts, as long as anything is under way.
func scenarios() []scenario {
	return []scenario{
		sameKeys(), spareKeys(), retriedCreation(), thereAndBack(), exchange(),
		rivalMoves(), touchedMove(), deletion(), rebirth(), sharedCode(),
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
// operation was aborted.
func crashed(t token) func(*state) bool {
	return func(s *state) bool {
		run := &s.runs[t]
		return run.stage == begun && run.granted == run.added && run.aborted
	}
}

// orphaned is a claim under t that r, its owner, doesn't know.
func orphaned(t token, k key, r record) func(*state) bool {
	return func(s *state) bool {
		row := &s.rows[r]
		return s.claims[k].token == t && row.held[k] != t && row.op.token != t && row.op.phase != committed
	}
}

func sameKeys() scenario {
	return scenario{
		name: "two creations want the same two keys",
		changes: [changeCount]change{
			1: {kind: create, record: ann, want: setOf(x, y)},
			2: {kind: create, record: bob, want: setOf(x, y)},
		},
		callers:  [2][]token{{1}, {2}},
		atLeast:  40_000,
		conflict: []token{1, 2},
		reaches: []sight{
			{"ann wins", all(told(1, success), told(2, failure))},
			{"bob wins after ann crashed between claim and commit", all(crashed(1), told(2, success))},
			{"each holds a key that the other wants", func(s *state) bool {
				return s.runs[1].granted == setOf(x) && s.runs[2].granted == setOf(y)
			}},
			{"a claim of ann's arrived after her operation was cleared", orphaned(1, x, ann)},
			{"nobody knows how ann's went, though it succeeded", func(s *state) bool {
				return s.runs[1].answer == unknown && s.runs[1].happened
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
		callers:  [2][]token{{1}, {2, 3}},
		atLeast:  300_000,
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
		callers:  [2][]token{{1, 2}, {3}},
		atLeast:  400_000,
		conflict: []token{1, 2, 3},
		reaches: []sight{
			{"the first was not known to succeed, and the retry met it", func(s *state) bool {
				return s.runs[1].answer == unknown && s.runs[1].happened && s.runs[2].answer == failure
			}},
			{"the retry succeeds", all(told(1, failure), told(2, success), told(3, failure))},
			{"an orphan of the first stands in the retry's way", func(s *state) bool {
				return orphaned(1, x, ann)(s) && s.rows[ann].op.token == 2
			}},
		},
	}
}

func thereAndBack() scenario {
	return scenario{
		name: "ann moves there and back while bob takes her key and is deleted",
		changes: [changeCount]change{
			1: {kind: create, record: ann, want: setOf(x)},
			2: {kind: update, record: ann, want: setOf(y)},
			3: {kind: update, record: ann, want: setOf(x)},
			4: {kind: create, record: bob, want: setOf(x)},
			5: {kind: remove, record: bob, want: setOf()},
		},
		given:    []token{1},
		callers:  [2][]token{{2, 3}, {4, 5}},
		atLeast:  70_000,
		conflict: []token{3, 4},
		reaches: []sight{
			{"ann is back", all(told(2, success), told(3, success), told(4, failure))},
			{"ann left, and bob took her key", all(told(2, success), told(3, failure), told(4, success))},
			{"ann is back after bob came and went",
				all(told(2, success), told(4, success), told(5, success), told(3, success))},
			{"ann left but waits to release", func(s *state) bool {
				return s.rows[ann].op.phase == committed && s.claims[x].token == 1
			}},
			{"a claim of ann's creation arrived when she had left", orphaned(1, x, ann)},
		},
	}
}

func exchange() scenario {
	return scenario{
		name: "ann and bob want each other's key",
		changes: [changeCount]change{
			1: {kind: create, record: ann, want: setOf(x)},
			2: {kind: create, record: bob, want: setOf(y)},
			3: {kind: update, record: ann, want: setOf()},
			4: {kind: update, record: ann, want: setOf(y)},
			5: {kind: update, record: bob, want: setOf(x)},
		},
		given:    []token{1, 2},
		callers:  [2][]token{{3, 4}, {5}},
		atLeast:  12_000,
		conflict: []token{4, 5},
		reaches: []sight{
			{"they exchange their keys", all(told(3, success), told(4, success), told(5, success))},
			{"each operation wants what the other record holds", func(s *state) bool {
				return s.rows[ann].op.token == 4 && s.rows[bob].op.token == 5 && s.claims[y].token == 2
			}},
		},
	}
}

func rivalMoves() scenario {
	return scenario{
		name: "four changes of one record at once",
		changes: [changeCount]change{
			1: {kind: create, record: ann, want: setOf(x)},
			2: {kind: update, record: ann, want: setOf(y)},
			3: {kind: update, record: ann, want: setOf(x, y)},
			4: {kind: update, record: ann, want: setOf(x)},
			5: {kind: touch, record: ann},
		},
		given:   []token{1},
		callers: [2][]token{{2, 4}, {3, 5}},
		atLeast: 150_000,
		reaches: []sight{
			{"all four", all(told(2, success), told(3, success), told(4, success), told(5, success))},
			{"a helper finished ann's move and a later revision landed before its caller went on", func(s *state) bool {
				return s.runs[2].stage == waiting && s.runs[2].happened &&
					s.rows[ann].op.token != 2 && s.rows[ann].revision == 3
			}},
		},
	}
}

func touchedMove() scenario {
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
		callers: [2][]token{{2, 4}, {3, 5}},
		atLeast: 80_000,
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
		callers:  [2][]token{{2, 3}, {4, 5}},
		atLeast:  160_000,
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
		callers:  [2][]token{{2, 3}, {4}},
		atLeast:  120_000,
		conflict: []token{3, 4},
		reaches: []sight{
			{"ann lives again under a new token", func(s *state) bool { return s.rows[ann].held[x] == 3 }},
			{"ann's old claim is back as an orphan", func(s *state) bool {
				return s.rows[ann].held[x] == 3 && s.claims[y].token == 1
			}},
			{"bob took both", all(told(2, success), told(4, success))},
		},
	}
}

func sharedCode() scenario {
	return scenario{
		name: "two devices get the same code, which expires",
		changes: [changeCount]change{
			1: {kind: create, record: ann, want: setOf(x), expires: true},
			2: {kind: update, record: ann, want: setOf()}, // cleanup takes the old code off
			3: {kind: create, record: bob, want: setOf(x), expires: true},
		},
		callers:  [2][]token{{1, 2}, {3}},
		atLeast:  50_000,
		conflict: []token{1, 3},
		reaches: []sight{
			{"bob takes over the code, and ann keeps living with it", func(s *state) bool {
				return s.rows[ann].held[x] == 1 && s.rows[bob].held[x] == 3 && !s.runs[3].expired
			}},
			{"ann lets go of a code that is bob's by now", func(s *state) bool {
				return s.runs[2].answer == success && s.claims[x].token == 3 && !s.runs[3].expired
			}},
			{"bob is refused a code in force", func(s *state) bool {
				return s.runs[3].answer == failure && s.claims[x].token == 1 && !s.runs[1].expired
			}},
		},
	}
}
