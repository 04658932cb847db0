package claimsmodel

import (
	"fmt"
	"strings"
)

// move is one step of the whole system: who decides what, for which change and
// key (where there is one).
type move struct {
	kind moveKind
	t    token
	k    key
}

type moveKind uint8

const (
	// A caller's moves. It hears the answer, except where the name says not.
	prepares moveKind = iota
	prepareRefused
	leavesPrepare
	claims
	claimRefused
	commits
	commitRefused
	losesCommit
	asksAgain
	settles
	reads
	swaps
	swapRefused
	losesSwap
	givesUp

	// Messages that arrive when nobody waits for them.
	latePrepare
	preparesAgain // by a fault only
	lateClaim
	lateCommit
	lateSwap
	callerAborts

	// Helpers, and callers that clean up: nobody can tell them apart.
	abortsOverdue
	releases
	clears
	judges
	removes
	buries

	// Time.
	deadlinePasses
	quarantineEnds
	codeExpires

	moveKinds
)

func (k moveKind) String() string {
	return [moveKinds]string{
		prepares:       "caller prepares",
		prepareRefused: "prepare is refused",
		leavesPrepare:  "caller leaves, its prepare under way",
		claims:         "caller claims",
		claimRefused:   "claim is refused",
		commits:        "caller commits",
		commitRefused:  "commit is refused",
		losesCommit:    "commit is sent, its answer lost",
		asksAgain:      "caller asks for the commit again",
		settles:        "caller aborts to settle it",
		reads:          "caller reads",
		swaps:          "caller swaps",
		swapRefused:    "swap is refused",
		losesSwap:      "swap is sent, its answer lost",
		givesUp:        "caller gives up",
		latePrepare:    "prepare arrives late",
		preparesAgain:  "prepare arrives again",
		lateClaim:      "claim arrives late or again",
		lateCommit:     "commit arrives",
		lateSwap:       "swap arrives",
		callerAborts:   "abort by the caller arrives",
		abortsOverdue:  "helper aborts",
		releases:       "release arrives",
		clears:         "operation is cleared",
		judges:         "claim is judged unknown",
		removes:        "removal of an unknown claim arrives",
		buries:         "tombstone is deleted",
		deadlinePasses: "deadline passes",
		quarantineEnds: "quarantine ends",
		codeExpires:    "code expires",
	}[k]
}

// keyed tells whether moves of this kind are about one key.
func (k moveKind) keyed() bool {
	switch k {
	case claims, claimRefused, lateClaim, releases, judges, removes:
		return true
	}
	return false
}

// describe is one line of a trace.
func (m *model) describe(v move) string {
	key := ""
	if v.kind.keyed() {
		key = ": " + v.k.String()
	}
	return fmt.Sprintf("t%d (%v): %v%s", v.t, m.changes[v.t], v.kind, key)
}

// tryMove offers a move of a kind for a change and a key. It counts if what it
// decides alters the state.
type tryMove func(kind moveKind, t token, k key, decide func(*state))

// moves calls emit with each move that is possible in s and alters it, and with
// the state that it leads to, which is only valid during the call.
func (m *model) moves(s *state, emit func(move, *state)) {
	var n state
	try := func(kind moveKind, t token, k key, decide func(*state)) {
		n = *s
		decide(&n)
		if n != *s {
			emit(move{kind, t, k}, &n)
		}
	}
	for _, script := range m.callers {
		if t := s.current(script); t != 0 {
			m.callerMoves(s, t, try)
		}
	}
	for t := token(1); t <= m.last(); t++ {
		m.lateMoves(s, t, try)
		m.helperMoves(s, t, try)
		m.timeMoves(s, t, try)
	}
}

// current is the first change of a script that its caller is not done with, or 0.
func (s *state) current(script []token) token {
	for _, t := range script {
		if s.runs[t].stage != done {
			return t
		}
	}
	return 0
}

// explain is a counterexample in words: the rule, what breaks it, and the moves
// that lead there.
func (m *model) explain(c *counterexample) string {
	var b strings.Builder
	fmt.Fprintf(&b, "broken: %s\n%s, after %d moves:", c.rule, c.wrong, len(c.trace))
	for i, v := range c.trace {
		fmt.Fprintf(&b, "\n%4d  %s", i+1, m.describe(v))
	}
	return b.String()
}
