package jobs

import (
	"math/rand/v2"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// partition is one family's number, of all tenants.
type partition struct {
	family domain.Family
	number domain.Number
}

// walk goes round the partitions of one database, in order and for ever. It
// begins anywhere and its place is the process's own: where a pass over one
// partition stands is kept by the domain, and all that the order must do is let
// none wait for long.
type walk struct {
	partitions []partition

	mu    sync.Mutex
	place int
}

func newWalk(families []domain.Family, numbers []domain.Number) *walk {
	w := &walk{}
	for _, number := range numbers {
		for _, family := range families {
			w.partitions = append(w.partitions, partition{family, number})
		}
	}
	if len(w.partitions) > 0 {
		w.place = rand.N(len(w.partitions))
	}
	return w
}

// next gives the partition whose turn it is.
func (w *walk) next() partition {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.partitions[w.place]
	w.place = (w.place + 1) % len(w.partitions)
	return p
}
