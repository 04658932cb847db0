package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

var acme, beta, gamma = domain.TenantID{1}, domain.TenantID{2}, domain.TenantID{3}

// stand is one pool's turns with those that stand in line, by name, and who went.
type stand struct {
	t     *testing.T
	turns *Turns
	went  chan string
	had   map[string]Turn
	mu    sync.Mutex
}

func newStand(t *testing.T, connections int) *stand {
	return &stand{t: t, turns: NewTurns(connections), went: make(chan string, 100), had: map[string]Turn{}}
}

// take takes a turn that is free.
func (s *stand) take(tenant domain.TenantID) Turn {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	cancel() // who would have to wait is told so instead
	turn, err := s.turns.Take(ctx, tenant)
	if err != nil {
		s.t.Fatalf("tenant %x finds no turn free", tenant[0])
	}
	return turn
}

// full tells whether the tenant would have to wait.
func (s *stand) full(tenant domain.TenantID) bool {
	ctx, cancel := context.WithCancel(s.t.Context())
	cancel()
	turn, err := s.turns.Take(ctx, tenant)
	if err == nil {
		turn.End()
	}
	return err != nil
}

// wait has somebody wait, and returns when he does.
func (s *stand) wait(ctx context.Context, tenant domain.TenantID, name string) {
	before := s.waiting()
	go func() {
		turn, err := s.turns.Take(ctx, tenant)
		if err != nil {
			s.went <- name + " gave up"
			return
		}
		s.mu.Lock()
		s.had[name] = turn
		s.mu.Unlock()
		s.went <- name
	}()
	for s.waiting() == before {
	}
}

func (s *stand) waiting() (n int) {
	s.turns.mu.Lock()
	defer s.turns.mu.Unlock()
	for _, share := range s.turns.line {
		n += share.waiting.Len()
	}
	return n
}

// end ends the turn of somebody who waited for it.
func (s *stand) end(name string) {
	s.mu.Lock()
	turn := s.had[name]
	s.mu.Unlock()
	turn.End()
}

func TestTurns_OneTenantNeverTakesTheLast(t *testing.T) {
	t.Parallel()
	for connections, most := range map[int]int{1: 1, 2: 1, 3: 2, 4: 3, 8: 6, 16: 12} {
		s := newStand(t, connections)
		for range most {
			s.take(acme)
		}
		if !s.full(acme) {
			t.Errorf("of %d connections one tenant takes more than %d", connections, most)
		}
		if connections > 1 && s.full(beta) {
			t.Errorf("of %d connections one tenant leaves another none", connections)
		}
	}
}

func TestTurns_WhoHasFewestGoesFirst_ThenWhoCameFirst(t *testing.T) {
	t.Parallel()
	s := newStand(t, 4)
	held := []Turn{s.take(acme), s.take(acme), s.take(beta), s.take(beta)}
	for i := range 3 {
		s.wait(t.Context(), acme, fmt.Sprint("acme", i))
	}
	s.wait(t.Context(), beta, "beta0")
	s.wait(t.Context(), gamma, "gamma0")
	var order []string
	next := func() {
		order = append(order, <-s.went)
	}
	held[0].End() // gamma has none
	next()
	held[1].End() // acme has none
	next()
	held[2].End() // beta has one, as acme and gamma have; acme came first
	next()
	s.end("gamma0") // acme has two, beta one
	next()
	held[3].End()
	next()
	if want := []string{"gamma0", "acme0", "acme1", "beta0", "acme2"}; !slices.Equal(order, want) {
		t.Errorf("turns went to %v, want %v", order, want)
	}
}

func TestTurns_ATenantsLineHoldsNobodyElseUp(t *testing.T) {
	t.Parallel()
	s := newStand(t, 4)
	for range 3 {
		s.take(acme)
	}
	for i := range 64 {
		s.wait(t.Context(), acme, fmt.Sprint("acme", i))
	}
	for range 10 {
		s.take(beta).End() // at once, and acme's line gets none of them
	}
	if n := s.waiting(); n != 64 {
		t.Errorf("%d wait, want 64: what is left for others isn't theirs", n)
	}
}

func TestTurns_WhoGivesUpLeavesTheLine(t *testing.T) {
	t.Parallel()
	s := newStand(t, 2)
	held := s.take(acme)
	ctx, cancel := context.WithCancel(t.Context())
	s.wait(ctx, acme, "first")
	s.wait(t.Context(), acme, "second")
	cancel()
	if got := <-s.went; got != "first gave up" {
		t.Fatal(got)
	}
	held.End()
	if got := <-s.went; got != "second" {
		t.Fatal(got)
	}
	s.end("second")
	if times, givenUp, together := s.turns.Waits(); times != 2 || givenUp != 1 || together <= 0 {
		t.Errorf("%d waited, %d in vain, for %v", times, givenUp, together)
	}
	if n := len(s.turns.tenants); n != 0 {
		t.Errorf("%d tenants are remembered that have nothing", n)
	}
}

// Whatever order things happen in, no turn is lost, none is double, and nobody waits
// who could go.
func TestTurns_NoneIsLostAndNobodyWaitsWhoCouldGo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		turns := NewTurns(rapid.IntRange(1, 9).Draw(t, "connections"))
		var mu sync.Mutex
		taken := map[byte]int{}
		count := func(tenant byte, d int) {
			mu.Lock()
			defer mu.Unlock()
			taken[tenant] += d
			if taken[tenant] > turns.most {
				t.Errorf("tenant %d has %d turns, and may have %d", tenant, taken[tenant], turns.most)
			}
			if all := taken[0] + taken[1] + taken[2]; all > turns.size {
				t.Errorf("%d turns were taken of %d", all, turns.size)
			}
		}
		var all sync.WaitGroup
		for range rapid.IntRange(1, 40).Draw(t, "callers") {
			tenant, gives := byte(rapid.IntRange(0, 2).Draw(t, "tenant")), rapid.Bool().Draw(t, "gives up")
			all.Go(func() {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				if gives {
					go cancel()
				}
				turn, err := turns.Take(ctx, domain.TenantID{tenant})
				if err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Errorf("%v", err)
					}
					return
				}
				count(tenant, 1)
				count(tenant, -1)
				turn.End()
			})
		}
		all.Wait() // and so nobody waits for ever
		if turns.taken != 0 || len(turns.line) != 0 || len(turns.tenants) != 0 {
			t.Errorf("left are %d turns, a line of %d, and %d tenants", turns.taken, len(turns.line), len(turns.tenants))
		}
	})
}

func BenchmarkTurns(b *testing.B) {
	turns := NewTurns(8)
	for b.Loop() {
		turn, err := turns.Take(b.Context(), acme)
		if err != nil {
			b.Fatal(err)
		}
		turn.End()
	}
}
