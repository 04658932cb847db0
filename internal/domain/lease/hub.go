package lease

import (
	"sync"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// hub wakes those in this process who wait for a world's journal to go on. A wake
// says that there may be something new; what it is, they read.
type hub struct {
	mu       sync.Mutex
	watchers map[hubKey]map[chan struct{}]bool
}

type hubKey struct {
	tenant domain.TenantID
	world  worldRef
}

func newHub() *hub { return &hub{watchers: map[hubKey]map[chan struct{}]bool{}} }

// watch gives a channel that is sent to whenever the world's journal goes on after
// this call; several wakes may become one.
func (h *hub) watch(tenant domain.TenantID, world worldRef) (woken <-chan struct{}, stop func()) {
	key := hubKey{tenant, world}
	wake := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers[key] == nil {
		h.watchers[key] = map[chan struct{}]bool{}
	}
	h.watchers[key][wake] = true
	return wake, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers[key], wake)
		if len(h.watchers[key]) == 0 {
			delete(h.watchers, key)
		}
	}
}

// tell wakes the world's watchers.
func (h *hub) tell(tenant domain.TenantID, world worldRef) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for wake := range h.watchers[hubKey{tenant, world}] {
		select {
		case wake <- struct{}{}:
		default: // a wake is waiting already
		}
	}
}
