package record

import (
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// memoryPool is bytes that tenants take from, none of them more than its share,
// which is half.
//
// Who takes some waits for the tenant's share first, holding nothing, and then, with
// that, for the pool. Both are first come, first served, so nobody is passed for
// ever; and since what a tenant has in the pool and waits for there is never more
// than its share, one that asks for any amount more waits for itself alone.
type memoryPool struct {
	total, share int64
	free         *semaphore.Weighted // of total
	taken        atomic.Int64        // of total; the semaphore doesn't tell

	mu      sync.Mutex
	tenants map[domain.TenantID]*tenantShare // of which somebody has something, or waits
}

// tenantShare is what one tenant may have of a pool.
type tenantShare struct {
	free  *semaphore.Weighted // of the pool's share
	users int                 // who have some of it, or wait; under the pool's mu
}

func newMemoryPool(bytes int64) *memoryPool {
	return &memoryPool{total: bytes, share: bytes / 2, free: semaphore.NewWeighted(bytes), tenants: map[domain.TenantID]*tenantShare{}}
}

// take reserves bytes, or all of the tenant's share if that is less. It waits until
// ctx ends, and gives its error then. release may be called more than once.
func (p *memoryPool) take(ctx context.Context, tenant domain.TenantID, bytes int64) (release func(), err error) {
	bytes = min(bytes, p.share)
	of := p.enter(tenant)
	if err := of.free.Acquire(ctx, bytes); err != nil {
		p.leave(tenant)
		return nil, err
	}
	if err := p.free.Acquire(ctx, bytes); err != nil {
		of.free.Release(bytes)
		p.leave(tenant)
		return nil, err
	}
	p.taken.Add(bytes)
	return sync.OnceFunc(func() {
		p.taken.Add(-bytes)
		p.free.Release(bytes)
		of.free.Release(bytes)
		p.leave(tenant)
	}), nil
}

// enter gives the tenant's share, which stays the same one until all who entered
// have left.
func (p *memoryPool) enter(tenant domain.TenantID) *tenantShare {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.tenants[tenant]
	if of == nil {
		of = &tenantShare{free: semaphore.NewWeighted(p.share)}
		p.tenants[tenant] = of
	}
	of.users++
	return of
}

func (p *memoryPool) leave(tenant domain.TenantID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.tenants[tenant]
	if of.users--; of.users == 0 {
		delete(p.tenants, tenant)
	}
}
