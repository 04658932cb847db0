package claimsmodel

import (
	"hash/maphash"
	"slices"
)

// stateLimit ends a search that does not end by itself: some faults let
// revisions grow for ever.
const stateLimit = 3_000_000

// found is what a search saw.
type found struct {
	states    int
	steps     int // moves from these states, to new ones or not
	depth     int // moves from the start to the farthest state
	exhausted bool
	took      [moveKinds]int
	told      [changeCount][4]bool // which answers each change's caller was given
	refused   [changeCount]bool    // which changes were refused a claim
	sights    []bool               // which of the scenario's sights were seen
	broken    *counterexample
}

// counterexample is a shortest way to break a rule.
type counterexample struct {
	rule  rule
	wrong string
	trace []move
}

// visit is how a state was first reached.
type visit struct {
	from int32 // index of a visit, or -1
	by   move
}

// searcher walks the states of a model breadth first.
type searcher struct {
	*model
	only   rule // the rule to break, or "" for any
	seeds  [2]maphash.Seed
	seen   map[fingerprint]struct{}
	visits []visit
	next   []frontier
	found
}

// fingerprint stands for a state: two hashes of it under independent seeds. That
// two of a million states share it happens once in 10^26 searches.
type fingerprint [2]uint64

func (s *searcher) fingerprint(n *state) fingerprint {
	return fingerprint{maphash.Comparable(s.seeds[0], *n), maphash.Comparable(s.seeds[1], *n)}
}

// frontier is a state whose moves have not been tried.
type frontier struct {
	state state
	visit int32
}

// search walks all states until a rule is broken (the given one, or any for ""),
// or no new state is left.
func (m *model) search(only rule) found {
	s := searcher{model: m, only: only, seen: map[fingerprint]struct{}{}}
	s.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	s.sights = make([]bool, len(m.reaches))
	start := m.start()
	s.reach(start, s.fingerprint(&start), visit{from: -1})
	for len(s.next) > 0 && s.goesOn() {
		level := s.next
		s.next = nil
		for i := range level {
			s.expand(&level[i])
		}
		if len(s.next) > 0 {
			s.depth++
		}
	}
	s.states, s.exhausted = len(s.visits), s.goesOn()
	return s.found
}

func (s *searcher) goesOn() bool { return s.broken == nil && len(s.visits) < stateLimit }

// expand tries each move from one state.
func (s *searcher) expand(from *frontier) {
	s.moves(&from.state, func(by move, to *state) {
		if !s.goesOn() {
			return
		}
		s.steps++
		s.took[by.kind]++
		s.refused[by.t] = s.refused[by.t] || by.kind == claimRefused
		way := visit{from.visit, by}
		for _, r := range stepRules {
			if s.asks(r.rule) {
				s.judge(r.rule, r.wrong(s.model, &from.state, to), way)
			}
		}
		print := s.fingerprint(to)
		if _, old := s.seen[print]; !old {
			s.reach(*to, print, way)
		}
	})
}

// reach takes in a new state.
func (s *searcher) reach(n state, print fingerprint, way visit) {
	id := int32(len(s.visits))
	s.seen[print] = struct{}{}
	s.visits = append(s.visits, way)
	s.next = append(s.next, frontier{n, id})
	for t := range n.runs {
		s.told[t][n.runs[t].answer] = true
	}
	for i, sight := range s.reaches {
		s.sights[i] = s.sights[i] || sight.seen(&n)
	}
	for _, r := range stateRules {
		if s.asks(r.rule) {
			s.judge(r.rule, r.wrong(s.model, &n), way)
		}
	}
}

func (s *searcher) asks(r rule) bool { return s.only == "" || s.only == r }

// judge keeps the first counterexample.
func (s *searcher) judge(r rule, wrong string, way visit) {
	if wrong == "" || s.broken != nil {
		return
	}
	var trace []move
	for ; way.from >= 0; way = s.visits[way.from] {
		trace = append(trace, way.by)
	}
	slices.Reverse(trace)
	s.broken = &counterexample{r, wrong, trace}
}
