package claimsmodel

import (
	"slices"
	"sync"
	"testing"
)

// The protocol as designed, over the whole state space of each scenario.
func TestProtocol_KeepsItsPromisesInEveryInterleaving(t *testing.T) {
	var (
		mu   sync.Mutex
		took [moveKinds]int
	)
	t.Run("scenarios", func(t *testing.T) {
		for _, sc := range scenarios() {
			t.Run(sc.name, func(t *testing.T) {
				t.Parallel()
				m := &model{scenario: sc}
				f := m.search("")
				t.Logf("%d states, %d steps, depth %d", f.states, f.steps, f.depth)
				if f.broken != nil {
					t.Fatal(m.explain(f.broken))
				}
				mustNotBeIdle(t, m, f)

				mu.Lock()
				defer mu.Unlock()
				for kind, n := range f.took {
					took[kind] += n
				}
			})
		}
	})
	for kind, n := range took {
		if n == 0 && moveKind(kind) < firstByFault {
			t.Errorf("no scenario takes the move %q", moveKind(kind))
		}
	}
}

// mustNotBeIdle fails unless the search covered its space, saw what the scenario
// is about, and had every change succeed, fail and end in the dark.
func mustNotBeIdle(t *testing.T, m *model, f found) {
	t.Helper()
	if !f.exhausted || f.states < m.atLeast {
		t.Errorf("%d states, exhausted: %v; want all, and at least %d", f.states, f.exhausted, m.atLeast)
	}
	for i, sight := range m.reaches {
		if !f.sights[i] {
			t.Errorf("never seen: %s", sight.what)
		}
	}
	for _, change := range m.conflict {
		if !f.refused[change] {
			t.Errorf("t%d (%v) was never refused a claim", change, m.changes[change])
		}
	}
	for _, script := range m.callers {
		for _, change := range script {
			for _, a := range []answer{success, failure, unknown} {
				if !f.told[change][a] && !(a == failure && slices.Contains(m.sure, change)) {
					t.Errorf("t%d (%v) was never told %v", change, m.changes[change], a)
				}
			}
		}
	}
}
