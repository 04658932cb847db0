package lease

import (
	"testing"
)

// The model searches every interleaving of what two nodes, the coordinator's
// clients and an operator do to one world, for a state that breaks a promise of the
// lease. Its decisions are not a copy: each move calls the Service, whose
// transactions are made in memory instead of in a database (modelworld_test.go).
//
// # What is modelled
//
// Delay, loss and duplication are the rule. Whatever a node may have sent may
// arrive at any time, and any number of times: its moves present any lease that it
// was ever told, so a paused writer, a retry and an answer that was lost are all
// among the interleavings. A node that has crashed takes no further move. The
// operator looks, pauses for as long as it pleases, and revokes. The clock goes on
// by ticks of half a term, and may go back by one.
//
// States that differ only in how long their journals are, or how high their
// epochs, are one (the fingerprint, modelsearch_test.go): no rule looks at more
// than whether a lease is the one in force, which entry ids are known, and what of
// a term is left. So the search ends, and then has seen everything.
//
// # What must hold
//
// The rules are in modelghost_test.go. They are judged by a ghost, which follows the
// journal with a few lines of its own and was told every secret with the name of
// whom it was told to, and never asks the head.
//
// # Why to believe it
//
// Each fault takes one guard out of the decisions, by lying to them: the search
// finds how a promise then breaks, or the fault is among those that another guard
// backs (modelfaults_test.go).
func TestModel_NoInterleavingBreaksAPromise(t *testing.T) {
	t.Parallel()
	for _, m := range []model{passing(), waiting(), counting()} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			f := m.search(t, "")
			t.Logf("%d states, %d moves, depth %d", f.states, f.moves, f.depth)
			switch {
			case f.broken != nil:
				t.Error(f.broken)
			case !f.exhausted:
				t.Error("the search was not exhausted")
			case f.states < m.atLeast:
				t.Errorf("%d states are fewer than %d: that was no search", f.states, m.atLeast)
			}
			for _, must := range m.reaches {
				if !f.codes[must] {
					t.Errorf("no move was answered with %q", must)
				}
			}
		})
	}
}

// model is what the actors of a search may do.
type model struct {
	name   string
	faults fault

	requests  []modelRequest // by which nodes acquire the lease
	revokes   bool           // an operator looks and revokes
	stepsBack bool           // the clock does, by a tick
	impostor  bool           // a second process of the holder's principal, which was told no secret
	counts    bool           // what is counted beside the head is part of a state
	noIDs     bool           // no append has an entry id

	atLeast int      // states
	reaches []string // answers that some move must get: a refusal's code, or "ok" and the move's name
}

// modelRequest is one that a node may send, again and again.
type modelRequest struct {
	by       node
	id       string
	takeover bool
	waits    bool
}

// passing: a lease goes from writer to writer in every way, but for the line.
func passing() model {
	return model{
		name:     "passing",
		requests: []modelRequest{{by: nodeA, id: "a1"}, {by: nodeA, id: "a2", takeover: true}, {by: nodeB, id: "b1"}},
		revokes:  true, stepsBack: true, impostor: true,
		atLeast: 1000,
		reaches: []string{
			"ok acquire", "ok activate", "ok renew", "ok hand back", "ok append", "ok append once", "ok hosted", "ok revoke",
			"fenced", "lease_expired", "lease_not_activated", "lease_held", "lease_changed", "lease_not_held", "replay_mismatch",
		},
	}
}

// waiting: both nodes stand in line, and are handed the lease there.
func waiting() model {
	return model{
		name: "waiting",
		requests: []modelRequest{
			{by: nodeA, id: "a1", waits: true}, {by: nodeB, id: "b1", waits: true}, {by: nodeB, id: "b2"},
		},
		noIDs:   true,
		atLeast: 1000,
		reaches: []string{"ok acquire", "ok hand on", "lease_awaited", "nobody_waits"},
	}
}

// counting: refused attempts are evidence, and no one of them is lost.
func counting() model {
	return model{
		name:     "counting",
		requests: []modelRequest{{by: nodeA, id: "a1"}},
		counts:   true, noIDs: true,
		atLeast: 500,
		reaches: []string{"ok hosted", "fenced", "lease_expired"},
	}
}
