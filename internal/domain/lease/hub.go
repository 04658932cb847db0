package lease

import (
	"crypto/sha256"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// worldKey names a world of any tenant: half of a SHA-256, so that nobody finds
// two worlds of one key.
type worldKey [sha256.Size / 2]byte

func keyOf(tenant domain.TenantID, world worldRef) worldKey {
	named := make([]byte, 0, len(tenant)+len(world.id))
	named = append(append(named, tenant[:]...), world.id...)
	sum := sha256.Sum256(named)
	return worldKey(sum[:len(worldKey{})])
}

// grown is a world whose journal has gone on.
type grown struct {
	world worldKey
	end   int64 // position of the journal's last entry then
}

// hub wakes those in this process who wait for a world's journal to go on. A wake
// says that there may be something new; what it is, they read.
type hub struct {
	mu     sync.Mutex
	topics map[worldKey]*topic
}

// topic is a world that somebody watches.
type topic struct {
	end      int64 // the highest that was told of while it was watched
	doubts   int   // how often it was doubted
	watchers map[chan struct{}]bool
}

func newHub() *hub { return &hub{topics: map[worldKey]*topic{}} }

// watch gives a channel that is sent to whenever the world's journal goes on after
// this call; several wakes may become one.
func (h *hub) watch(tenant domain.TenantID, world worldRef) (woken <-chan struct{}, stop func()) {
	key := keyOf(tenant, world)
	wake := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.topics[key] == nil {
		h.topics[key] = &topic{watchers: map[chan struct{}]bool{}}
	}
	h.topics[key].watchers[wake] = true
	return wake, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if t := h.topics[key]; t != nil {
			if delete(t.watchers, wake); len(t.watchers) == 0 {
				delete(h.topics, key)
			}
		}
	}
}

// told is what somebody who watches the world may know of it.
func (h *hub) told(world worldKey) (end int64, doubts int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.topics[world]; t != nil {
		return t.end, t.doubts
	}
	return 0, 0
}

// tell wakes the watchers of each world of which they didn't know that yet.
func (h *hub) tell(all ...grown) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range all {
		if t := h.topics[g.world]; t != nil && g.end > t.end {
			t.end = g.end
			t.wake()
		}
	}
}

// doubt wakes the worlds' watchers although nothing is known to be new: there may
// be a reason to stop.
func (h *hub) doubt(worlds ...worldKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, world := range worlds {
		if t := h.topics[world]; t != nil {
			t.doubts++
			t.wake()
		}
	}
}

func (t *topic) wake() {
	for wake := range t.watchers {
		select {
		case wake <- struct{}{}:
		default: // a wake is waiting already
		}
	}
}
