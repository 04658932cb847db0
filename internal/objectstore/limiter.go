package objectstore

import (
	"container/list"
	"context"
	"sync"
)

// limiter bounds the requests that are under way to one bucket. The bound grows
// by one for each round of requests that went well, and is halved when the store
// says that it has too much: additive increase, multiplicative decrease, as TCP
// does it (RFC 5681). Limiters that go by latency would see the size of bodies.
type limiter struct {
	ceiling float64

	mu      sync.Mutex
	limit   float64 // 1 to the ceiling; its whole part counts
	held    int
	cuts    uint64    // how often the limit was cut
	waiting list.List // of chan struct{}, closed when its turn comes; first come, first served
}

// newLimiter begins with as many requests as there may ever be.
func newLimiter(ceiling int) *limiter {
	return &limiter{ceiling: float64(ceiling), limit: float64(ceiling)}
}

// A permit is the right to one request. It must be released.
type permit struct {
	limiter *limiter
	cuts    uint64 // as they were at its begin
}

// load is what a request's end tells of the store.
type load uint8

const (
	unknown load = iota
	fine
	tooMuch
)

// acquire waits for a permit, for as long as ctx lasts.
func (l *limiter) acquire(ctx context.Context) (permit, error) {
	l.mu.Lock()
	if l.held < int(l.limit) && l.waiting.Len() == 0 {
		defer l.mu.Unlock()
		l.held++
		return permit{l, l.cuts}, nil
	}
	turn := make(chan struct{})
	place := l.waiting.PushBack(turn)
	l.mu.Unlock()

	select {
	case <-turn:
	case <-ctx.Done():
		l.leave(place, turn)
		return permit{}, ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return permit{l, l.cuts}, nil
}

// leave gives up a place in the line, or the turn that came meanwhile.
func (l *limiter) leave(place *list.Element, turn <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-turn:
		l.held--
		l.admit()
	default:
		l.waiting.Remove(place)
	}
}

// release ends the request. Of those that were under way together only the first
// that was too much cuts the limit: they tell of the same moment.
func (p permit) release(load load) {
	l := p.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	switch full := l.held >= int(l.limit); {
	case load == tooMuch && p.cuts == l.cuts:
		l.limit = max(1, l.limit/2)
		l.cuts++
	case load == fine && full: // a limit that isn't reached proves nothing
		l.limit = min(l.ceiling, l.limit+1/l.limit)
	}
	l.held--
	l.admit()
}

// admit gives free permits to those who wait.
func (l *limiter) admit() {
	for l.held < int(l.limit) && l.waiting.Len() > 0 {
		l.held++
		close(l.waiting.Remove(l.waiting.Front()).(chan struct{}))
	}
}

// state is the limit, and how much of it is used.
func (l *limiter) state() (limit, held int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(l.limit), l.held
}
