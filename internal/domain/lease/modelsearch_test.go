package lease

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

// sceneLimit ends a search that does not end by itself.
const sceneLimit = 200_000

// found is what a search saw.
type found struct {
	states, moves, depth int
	exhausted            bool
	codes                map[string]bool // answers
	broken               *counterexample
}

// counterexample is a shortest way to break a rule.
type counterexample struct {
	rule  rule
	wrong string
	trace []move
}

func (c *counterexample) Error() string {
	steps := make([]string, len(c.trace))
	for i, m := range c.trace {
		steps[i] = m.String()
	}
	return fmt.Sprintf("%s: %s, by %s", c.rule, c.wrong, strings.Join(steps, "; "))
}

// visited is how a scene was first reached.
type visited struct {
	from int // index, or -1
	by   move
}

// search walks all scenes breadth first, until a rule is broken (the given one, or
// any for "") or no new scene is left.
func (m *model) search(t *testing.T, only rule) (f found) {
	t.Helper()
	b := newBench(t)
	f.codes = map[string]bool{}
	start := m.start(b)
	seen := map[string]bool{m.fingerprint(&start): true}
	visits := []visited{{from: -1}}
	level, ids := []scene{start}, []int{0}
	for len(level) > 0 {
		var next []scene
		var nextIDs []int
		for i := range level {
			from := &level[i]
			accepted := map[string]bool{}
			for _, by := range m.moves(from) {
				to, got := m.make(b, from, by)
				f.moves++
				f.note(by, got)
				broken, wrong := to.ghost.judge(m, b, from, by, got)
				if by.kind == acquires {
					to.ghost.stand(m, by, got, later(from.clock, from.ghost.replayed.LastAt))
				}
				if second := oneOf(accepted, from, by, got); second != "" && (wrong == "" || only == oneWriter) {
					broken, wrong = oneWriter, second
				}
				if wrong != "" && (only == "" || only == broken) {
					f.broken = &counterexample{broken, wrong, wayTo(visits, visited{ids[i], by})}
					f.states = len(visits)
					return f
				}
				if print := m.fingerprint(&to); wrong == "" && !seen[print] {
					seen[print] = true
					nextIDs = append(nextIDs, len(visits))
					visits = append(visits, visited{ids[i], by})
					next = append(next, to)
				}
			}
			if len(visits) > sceneLimit {
				f.states = len(visits)
				return f
			}
		}
		level, ids = next, nextIDs
		if len(level) > 0 {
			f.depth++
		}
	}
	f.states, f.exhausted = len(visits), true
	return f
}

func (f *found) note(by move, got answer) {
	if got.code == "" {
		f.codes["ok "+moveNames[by.kind]] = true
	}
	f.codes[got.code] = true
}

// oneOf tells when a second authority is accepted in one and the same scene.
func oneOf(accepted map[string]bool, from *scene, by move, got answer) string {
	if got.code != "" || got.receipt.World == "" || got.receipt.Replayed {
		return ""
	}
	authority := "none"
	if by.kind != appendsHosted {
		authority = fmt.Sprintf("%v's of epoch %d", by.by, from.leases[by.by][by.lease].Epoch)
	}
	accepted[authority] = true
	if len(accepted) < 2 {
		return ""
	}
	return fmt.Sprintf("these leases can write: %v", slices.Sorted(maps.Keys(accepted)))
}

func wayTo(visits []visited, last visited) (moves []move) {
	for v := last; v.from >= 0; v = visits[v.from] {
		moves = append(moves, v.by)
	}
	slices.Reverse(moves)
	return moves
}

// start is a world that has just been made.
func (m *model) start(b *bench) scene {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	made := &locked{head: head{State: journal.Begin(b.tenant, b.ref.id), ref: b.ref}, now: began, known: map[string]knownEntry{}}
	made.note(journal.KindWorldCreated, 1, actorOf(b.scope(hosted)), journal.Created{})
	return scene{
		world: stored{head: made.head, known: map[string]knownEntry{}, rejections: map[journal.Actor]rejection{}},
		clock: began,
		ghost: ghost{replayed: made.State, epoch: 1, activated: true, secrets: map[string]issued{}},
	}
}

// fingerprint is what matters of a scene: times are counted from now on, and
// epochs and positions by whether they are those in force.
func (m *model) fingerprint(s *scene) string {
	var f strings.Builder
	h := &s.world.head
	now := later(s.clock, h.LastAt)
	left := func(until time.Time) time.Duration {
		if until.IsZero() {
			return -1
		}
		return max(until.Sub(now), 0)
	}
	fmt.Fprint(&f, h.Holder.Subject, h.requestID, left(h.ExpiresAt), h.Activated, h.LastAt.Sub(s.clock) > 0, h.expiredEpoch == h.Epoch-1, len(s.world.known), "|")
	if !h.Activated {
		fmt.Fprint(&f, left(h.ActivateBy))
	}
	for _, leases := range s.leases {
		for _, lease := range leases {
			standing := "old"
			switch lease.Epoch {
			case 0:
				standing = "none"
			case h.Epoch:
				standing = "in force"
			case h.expiredEpoch:
				standing = "expired"
			}
			fmt.Fprint(&f, standing, ",")
		}
	}
	if s.look != nil {
		fmt.Fprint(&f, "looked", s.look.events == s.ghost.events, s.look.epoch == h.Epoch)
	}
	for _, w := range s.world.waiters {
		fmt.Fprint(&f, w.requestID, left(w.aliveUntil))
	}
	if m.counts {
		for caller, r := range inOrder(s.world.rejections) {
			fmt.Fprint(&f, caller.Subject, r.pending > 0, left(r.journaledAt.Add(coalesce)))
		}
		fmt.Fprint(&f, h.rejected)
	}
	if s.paused != nil {
		fmt.Fprint(&f, "paused", h.Position-s.paused.head.Position)
	}
	return f.String()
}
