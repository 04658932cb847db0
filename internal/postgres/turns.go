package postgres

import (
	"container/heap"
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Turns shares a pool's connections out among tenants. A tenant that asks for more
// than there are, or holds them for long because it waits for locks of its own,
// would else have everybody stand behind it in the pool's one line.
//
//   - One tenant takes at most all but a quarter of the connections, and never the
//     last one, so that another's next transaction finds one free.
//   - Of those that wait, the tenant that has fewest goes first; within a tenant, and
//     among tenants that have as many, who came first.
//
// Who has a turn finds a connection in the pool at once, but for what is taken from
// it without turns: what is no tenant's, and short. It is safe for concurrent use.
type Turns struct {
	size, most int // turns in all, and of one tenant

	mu      sync.Mutex
	taken   int
	tenants map[domain.TenantID]*share // those that have a turn, or wait
	line    line
	arrived uint64 // numbers those that wait
	waits   int64
	givenUp int64
	waited  time.Duration
}

// NewTurns makes the turns of a pool of so many connections, at least one.
func NewTurns(connections int) *Turns {
	size := max(connections, 1)
	return &Turns{size: size, most: max(size-max(size/4, 1), 1), tenants: map[domain.TenantID]*share{}}
}

// share is what one tenant has.
type share struct {
	tenant  domain.TenantID
	taken   int
	waiting list.List // of *waiter, in the order in which they came
	place   int       // in line, where somebody waits
}

type waiter struct {
	arrived uint64
	granted chan struct{} // closed with the turn
}

// Turn is one that was taken. Whoever took it ends it once.
type Turn struct {
	turns *Turns
	share *share
}

// Take gives the tenant a turn, and waits for it. The error is ctx's.
func (t *Turns) Take(ctx context.Context, tenant domain.TenantID) (Turn, error) {
	t.mu.Lock()
	s := t.tenants[tenant]
	if s == nil {
		s = &share{tenant: tenant}
		t.tenants[tenant] = s
	}
	turn := Turn{t, s}
	if t.free(s) { // and nobody waits who could go: whoever could went
		t.taken++
		s.taken++
		t.mu.Unlock()
		return turn, nil
	}
	w, place := t.wait(s)
	t.mu.Unlock()

	began := time.Now()
	var err error
	select {
	case <-w.granted:
	case <-ctx.Done():
		err = ctx.Err()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waited += time.Since(began)
	if err != nil {
		t.givenUp++
		t.leave(s, w, place)
		return Turn{}, err
	}
	return turn, nil
}

// End gives the turn to whoever is next.
func (t Turn) End() {
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	t.turns.end(t.share)
}

// Waits tells how often somebody found no turn free and waited, how often in vain, and
// how long all of them have waited together.
func (t *Turns) Waits() (times, givenUp int64, together time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waits, t.givenUp, t.waited
}

func (t *Turns) free(s *share) bool { return t.taken < t.size && s.taken < t.most }

// wait puts one more of the share's in line.
func (t *Turns) wait(s *share) (*waiter, *list.Element) {
	t.arrived++
	t.waits++
	w := &waiter{arrived: t.arrived, granted: make(chan struct{})}
	place := s.waiting.PushBack(w)
	if s.waiting.Len() == 1 {
		heap.Push(&t.line, s)
	}
	return w, place
}

// leave is for one that waits no longer. The turn that it was granted meanwhile is
// the next one's.
func (t *Turns) leave(s *share, w *waiter, place *list.Element) {
	select {
	case <-w.granted:
		t.end(s)
	default:
		t.unwait(s, place)
		t.forget(s)
	}
}

// unwait takes one out of the line.
func (t *Turns) unwait(s *share, place *list.Element) {
	s.waiting.Remove(place)
	if s.waiting.Len() == 0 {
		heap.Remove(&t.line, s.place)
		return
	}
	heap.Fix(&t.line, s.place)
}

func (t *Turns) end(s *share) {
	t.taken--
	s.taken--
	if s.waiting.Len() > 0 {
		heap.Fix(&t.line, s.place)
	}
	t.forget(s)
	// One at most: there was one turn less than now, and nobody could go.
	if len(t.line) > 0 && t.free(t.line[0]) {
		t.grant(t.line[0])
	}
}

// grant gives the share's first a turn. A share that has all that it may is behind
// those that don't, since it has more.
func (t *Turns) grant(s *share) {
	first := s.waiting.Front()
	t.taken++
	s.taken++
	t.unwait(s, first)
	close(first.Value.(*waiter).granted)
}

// forget drops a share that nobody has a part in.
func (t *Turns) forget(s *share) {
	if s.taken == 0 && s.waiting.Len() == 0 {
		delete(t.tenants, s.tenant)
	}
}

// line is a heap of the shares with somebody who waits: that whose turn it is, first.
type line []*share

func (l line) Len() int { return len(l) }

func (l line) Less(i, j int) bool {
	if l[i].taken != l[j].taken {
		return l[i].taken < l[j].taken
	}
	return l[i].first() < l[j].first()
}

func (l line) Swap(i, j int) {
	l[i], l[j] = l[j], l[i]
	l[i].place, l[j].place = i, j
}

// Push and Pop are heap.Interface's.
func (l *line) Push(s any) {
	s.(*share).place = len(*l)
	*l = append(*l, s.(*share))
}

func (l *line) Pop() any {
	last := len(*l) - 1
	s := (*l)[last]
	(*l)[last] = nil
	*l = (*l)[:last]
	return s
}

// first is the number of the share's first that waits.
func (s *share) first() uint64 { return s.waiting.Front().Value.(*waiter).arrived }
