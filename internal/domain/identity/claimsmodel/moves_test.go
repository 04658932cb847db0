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

// moveKind is what happens. Its name is in moveNames.
type moveKind uint8

const (
	// A caller's moves. It hears the answer, except where the name says not.
	begins moveKind = iota
	beginRefused
	prepares
	prepareRefused
	leavesPrepare
	takesBack
	claims
	claimRefused
	commits
	commitRefused
	losesCommit
	decides
	decisionRefused
	losesDecision
	reads
	swaps
	swapRefused
	losesSwap
	reports
	givesUp

	// Messages that arrive when nobody waits for them.
	latePrepare
	lateClaim
	lateCommit
	lateSwap
	lateDecision
	withdraws
	withdrawsClaim

	// Helpers, and callers that clean up: nobody can tell them apart.
	abortsOverdue
	releases
	clears
	misses
	removes
	buries

	// Time, and crashes of databases.
	deadlinePasses
	quarantineEnds
	codeExpires
	codeLapses
	prepareLost
	clearLost

	// By a fault only.
	preparesAgain
	abortLost
	claimLost

	moveKinds
)

const firstByFault = preparesAgain

var moveNames = [moveKinds]string{
	begins:          "caller begins a pending change",
	beginRefused:    "pending change is refused",
	prepares:        "caller prepares",
	prepareRefused:  "prepare is refused",
	leavesPrepare:   "caller leaves, its prepare under way",
	takesBack:       "caller takes back what it prepared in vain",
	claims:          "caller claims",
	claimRefused:    "claim is refused",
	commits:         "caller commits",
	commitRefused:   "commit is refused",
	losesCommit:     "commit is sent, its answer lost",
	decides:         "caller makes the change",
	decisionRefused: "change is refused",
	losesDecision:   "change is sent, its answer lost",
	reads:           "caller reads",
	swaps:           "caller swaps",
	swapRefused:     "swap is refused",
	losesSwap:       "swap is sent, its answer lost",
	reports:         "caller reports",
	givesUp:         "caller gives up",
	latePrepare:     "prepare arrives late",
	lateClaim:       "claim arrives late or again, or its release is lost in a crash",
	lateCommit:      "commit arrives",
	lateSwap:        "swap arrives",
	lateDecision:    "change arrives late",
	withdraws:       "caller calls it off",
	withdrawsClaim:  "caller releases a claim, its operation gone",
	abortsOverdue:   "helper aborts",
	releases:        "release arrives",
	clears:          "operation is cleared",
	misses:          "claim is missed in the first half of a reading",
	removes:         "obsolete claim is removed",
	buries:          "tombstone is deleted",
	deadlinePasses:  "deadline passes",
	quarantineEnds:  "quarantine ends",
	codeExpires:     "code expires by its key's bucket",
	codeLapses:      "code expires by its record's bucket",
	prepareLost:     "prepare is lost in a crash",
	clearLost:       "clearing is lost in a crash",
	preparesAgain:   "prepare arrives again",
	abortLost:       "abort is lost in a crash",
	claimLost:       "claim is lost in a crash",
}

func (k moveKind) String() string { return moveNames[k] }

// keyed tells whether moves of this kind are about one key.
func (k moveKind) keyed() bool {
	switch k {
	case claims, claimRefused, lateClaim, withdrawsClaim, releases, misses, removes, claimLost:
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
		m.lossMoves(s, t, try)
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
