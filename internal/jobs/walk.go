package jobs

import (
	"math/rand/v2"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// walk goes round the places of one database, in order and for ever, lap by lap.
// A run that breaks off leaves a lap where it is, and the next goes on there, so
// that a lap ends however short the runs are. It begins anywhere, and is the
// process's own: where a pass over one place stands is kept by the domain, and all
// that the order must do is let none wait for long.
//
// A place with more to do than a run has time for waits for its next turn like all
// others, in a further lap.
//
// Runs that walk at once share a lap.
type walk[P comparable] struct {
	places []P

	mu   sync.Mutex
	next int
	lap  int  // places that one has
	left int  // of the lap
	more bool // than the lap's turns could do
}

// newWalk makes a walk over each kind in each number.
func newWalk[K any, P comparable](kinds []K, numbers []domain.Number, place func(K, domain.Number) P) *walk[P] {
	w := &walk[P]{}
	for _, number := range numbers {
		for _, kind := range kinds {
			w.places = append(w.places, place(kind, number))
		}
	}
	if len(w.places) > 0 {
		w.next = rand.N(len(w.places))
	}
	return w
}

// begin begins a lap of so many places, at most of all, unless there is one to go on
// with.
func (w *walk[P]) begin(visits int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left == 0 && !w.more {
		w.lap = min(visits, len(w.places))
		w.left = w.lap
	}
}

// turn gives the place whose turn it is; false when all laps are done.
func (w *walk[P]) turn() (place P, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left == 0 && w.more {
		w.left, w.more = w.lap, false
	}
	if w.left == 0 {
		return place, false
	}
	return w.places[w.next], true
}

// pass moves on behind a place that has had its turn, unless another run has.
func (w *walk[P]) pass(had P) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.onFrom(had)
}

// leave is pass where there is more to do.
func (w *walk[P]) leave(had P) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.more = true
	w.onFrom(had)
}

func (w *walk[P]) onFrom(had P) {
	if w.left > 0 && w.places[w.next] == had {
		w.next = (w.next + 1) % len(w.places)
		w.left--
	}
}
