package limits

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// stocks is what a process knows of what a tenant has: what was counted, and what
// it made itself since.
type stocks struct {
	mu      sync.Mutex
	limits  Limits
	counted Counted
	grown   []growth // in the order of their times
}

// growth is what was made within growthStep of a time.
type growth struct {
	at   time.Time
	more Usage
}

const (
	growthStep = 5 * time.Second
	// maxGrowth bounds the list; the oldest two become one then, as of the later.
	maxGrowth = 1_000
)

// know takes what was read. What was made before the newest of the databases' counts
// may be in it, and is no longer added: who is below a quota is not refused, and who
// passes it does so by little.
func (s *stocks) know(l Limits, c Counted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits, s.counted = l, c
	old := 0
	for old < len(s.grown) && s.grown[old].at.Before(c.Newest) {
		old++
	}
	s.grown = append(s.grown[:0], s.grown[old:]...)
}

func (s *stocks) has(stock domain.Stock) int64 {
	n := *s.counted.of(stock)
	for i := range s.grown {
		n += *s.grown[i].more.of(stock)
	}
	return n
}

// Demand fails if the tenant may not have so much more; domain.Quotas has the
// contract.
func (l *Limiter) Demand(ctx context.Context, tenant domain.TenantID, stock domain.Stock, more int64) error {
	s := &l.of(ctx, tenant).stocks
	s.mu.Lock()
	defer s.mu.Unlock()
	if most := s.limits.of(stock); s.has(stock)+more > most {
		l.refusals.count(ctx, string(stock))
		return errQuota.With("quota", string(stock)).With("limit", most)
	}
	return nil
}

// Grew tells that the tenant has so much more.
func (l *Limiter) Grew(tenant domain.TenantID, stock domain.Stock, more int64) {
	t, known := l.tenants.GetIfPresent(tenant)
	if !known {
		return // forgotten meanwhile
	}
	s := &t.stocks
	s.mu.Lock()
	defer s.mu.Unlock()
	now := l.now()
	if n := len(s.grown); n == 0 || now.Sub(s.grown[n-1].at) >= growthStep {
		if n == maxGrowth {
			s.grown[1].more.add(s.grown[0].more)
			s.grown = append(s.grown[:0], s.grown[1:]...)
		}
		s.grown = append(s.grown, growth{at: now})
	}
	*s.grown[len(s.grown)-1].more.of(stock) += more
}

var errQuota = domain.Forbidden("quota_exceeded",
	"The tenant has as much as it may have of what the member quota names. Remove some, or ask its operator to raise the limit.")
