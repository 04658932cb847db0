package limits

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

const (
	// RefreshEvery is how old what a process knows of a tenant's limits may be.
	RefreshEvery = 5 * time.Second
	// retryEvery is when a process tries again that couldn't read them, and
	// refreshWithin is how long the request waits that reads them.
	retryEvery    = time.Second
	refreshWithin = 500 * time.Millisecond
	// maxTenants is how many tenants a process knows at once. One that is
	// forgotten begins with full buckets.
	maxTenants = 10_000
)

// Limiter holds callers to their tenants' limits. It is safe for concurrent use.
type Limiter struct {
	source    source
	databases []string
	tenants   *otter.Cache[domain.TenantID, *tenant]
	now       func() time.Time
	refusals  refusals
	log       *slog.Logger
}

// source is what the limiter needs of Store.
type source interface {
	read(ctx context.Context, tenant domain.TenantID, databases []string) (Set, Counted, error)
}

// NewLimiter makes a limiter of what the store has. The databases are those that
// have numbers.
func NewLimiter(store *Store, databases []string, log *slog.Logger) (*Limiter, error) {
	return newLimiter(store, databases, time.Now, otel.GetMeterProvider(), log)
}

func newLimiter(source source, databases []string, now func() time.Time, meters metric.MeterProvider, log *slog.Logger) (*Limiter, error) {
	tenants, err := otter.New(&otter.Options[domain.TenantID, *tenant]{MaximumSize: maxTenants})
	if err != nil {
		return nil, err
	}
	return &Limiter{source: source, databases: databases, tenants: tenants, now: now, refusals: newRefusals(meters), log: log}, nil
}

// tenant is what a process knows of one.
type tenant struct {
	refreshing sync.Mutex
	refreshAt  atomic.Int64 // Unix nanoseconds
	pace       atomic.Pointer[pace]
	stocks     stocks
}

// of gives the tenant, read anew if that is due. One request at a time reads; the
// others go on with what is known, but for those before the first was read.
func (l *Limiter) of(ctx context.Context, id domain.TenantID) *tenant {
	t, known := l.tenants.GetIfPresent(id)
	if !known {
		t, _ = l.tenants.SetIfAbsent(id, &tenant{})
	}
	if l.now().UnixNano() < t.refreshAt.Load() {
		return t
	}
	if t.pace.Load() == nil {
		t.refreshing.Lock()
	} else if !t.refreshing.TryLock() {
		return t
	}
	defer t.refreshing.Unlock()
	if now := l.now(); now.UnixNano() >= t.refreshAt.Load() {
		t.refreshAt.Store(now.Add(l.refresh(ctx, id, t)).UnixNano())
	}
	return t
}

// refresh reads what a tenant is held to, and tells when to do so again. What
// can't be read stays as it is known.
func (l *Limiter) refresh(ctx context.Context, id domain.TenantID, t *tenant) (again time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshWithin)
	defer cancel()
	set, counted, err := l.source.read(ctx, id, l.databases)
	before := t.pace.Load()
	if err != nil {
		l.log.WarnContext(ctx, "the tenant's limits could not be read; those known stay in force", "error", err)
		if before == nil {
			t.pace.Store(newPace(Default))
			t.stocks.know(Default, Counted{})
		}
		return retryEvery
	}
	effective := set.Effective()
	if before == nil || before.limits != effective {
		t.pace.Store(newPace(effective))
	}
	t.stocks.know(effective, counted)
	return RefreshEvery
}
