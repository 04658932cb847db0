package httpapi

import (
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// hourlyAct is an act that the log tells once an hour: a read of which one export
// takes a million.
type hourlyAct struct {
	operation string
	principal domain.PrincipalID
	tenant    domain.TenantID // which it concerns
}

func hourlyActOf(call *call) hourlyAct {
	return hourlyAct{call.operation.id, call.scope.Principal, call.act.entry.Tenant}
}

// hourlyActs are those that this process has told in this hour. Those that come at
// once before the first of them is done are all told.
type hourlyActs struct {
	mu   sync.Mutex
	hour time.Time
	told map[hourlyAct]bool
}

func (h *hourlyActs) has(act hourlyAct, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.hour.Equal(now.Truncate(time.Hour)) && h.told[act]
}

func (h *hourlyActs) add(act hourlyAct, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if hour := now.Truncate(time.Hour); h.told == nil || !h.hour.Equal(hour) {
		h.hour, h.told = hour, map[hourlyAct]bool{}
	}
	h.told[act] = true
}
