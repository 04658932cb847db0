package claimsmodel

// Scenarios of addresses that go from one account to another.

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
		callers:  [][]token{{2, 3}, {4, 5}},
		atLeast:  65_000,
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
			3: {kind: drop, record: ann, want: setOf()},
			4: {kind: update, record: ann, want: setOf(y)},
			5: {kind: update, record: bob, want: setOf(x)},
		},
		given:       []token{1, 2},
		callers:     [][]token{{3, 4}, {5}},
		sure:        []token{3},
		slowReaders: true,
		atLeast:     100_000,
		conflict:    []token{4, 5},
		reaches: []sight{
			{"they exchange their keys", all(told(3, success), told(4, success), told(5, success))},
			{"each operation wants what the other record holds", func(s *state) bool {
				return s.rows[ann].op.token == 4 && s.rows[bob].op.token == 5 && s.claims[x].token == 1 && s.claims[y].token == 2
			}},
		},
	}
}

func chain() scenario {
	return scenario{
		name: "ann wants bob's key, who wants cid's, who gives it up",
		changes: [changeCount]change{
			1: {kind: create, record: ann, want: setOf(x)},
			2: {kind: create, record: bob, want: setOf(y)},
			3: {kind: create, record: cid, want: setOf(z)},
			4: {kind: update, record: ann, want: setOf(y)},
			5: {kind: update, record: bob, want: setOf(z)},
			6: {kind: drop, record: cid, want: setOf()},
		},
		given:    []token{1, 2, 3},
		callers:  [][]token{{4}, {5}, {6}},
		sure:     []token{6},
		atLeast:  30_000,
		conflict: []token{4, 5},
		reaches: []sight{
			{"all move up", all(told(4, success), told(5, success), told(6, success))},
			{"all of them are committed and none has released", func(s *state) bool {
				return s.rows[ann].op.phase == committed && s.rows[bob].op.phase == committed && s.rows[cid].op.phase == committed
			}},
		},
	}
}

func contested() scenario {
	return scenario{
		name: "ann moves to a key that bob wants, and cid wants hers",
		changes: [changeCount]change{
			1: {kind: create, record: ann, want: setOf(x)},
			2: {kind: update, record: ann, want: setOf(y)},
			3: {kind: create, record: bob, want: setOf(y)},
			4: {kind: create, record: cid, want: setOf(x)},
		},
		given:    []token{1},
		callers:  [][]token{{2}, {3, 4}},
		atLeast:  41_000,
		conflict: []token{2, 3, 4},
		reaches: []sight{
			{"ann wins, and cid gets her key", all(told(2, success), told(3, failure), told(4, success))},
			{"bob wins, and ann keeps hers", all(told(2, failure), told(3, success), told(4, failure))},
			{"bob's claim stands in the way of ann, whose own stands in cid's", func(s *state) bool {
				return s.claims[y].token == 3 && s.rows[ann].op.token == 2 && s.rows[cid].op.token == 4
			}},
		},
	}
}

func firstAddress() scenario {
	return scenario{
		name: "ann is deleted while she is given her first address",
		changes: [changeCount]change{
			1: {kind: create, record: ann, want: setOf(x)},
			2: {kind: update, record: ann, want: setOf(x, y)},
			3: {kind: remove, record: ann, want: setOf(x)},
			4: {kind: create, record: bob, want: setOf(y)},
		},
		given:    []token{1},
		callers:  [][]token{{2}, {3}, {4}},
		sure:     []token{3},
		atLeast:  48_000,
		conflict: []token{2, 4},
		reaches: []sight{
			{"the deletion goes through beside the change, which then fails", func(s *state) bool {
				return s.runs[3].answer == success && s.runs[2].granted == setOf(y) && s.rows[ann].op.token == 2
			}},
			{"she gets the address, is deleted, and bob takes it", all(told(2, success), told(3, success), told(4, success))},
		},
	}
}
