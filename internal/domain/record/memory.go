package record

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Memory bounds the bytes of bodies that a process holds at once: those of
// requests on their way in, and those that are verified on their way out. What a
// body is copied to while it goes to the database or comes from there isn't
// counted: the driver's buffers have up to twice the bytes of the bodies that are
// under way. Those of the object store are small.
//
// Callers hold it for as long as they take to send or to read. So no tenant has
// more than half of it, and an eighth is kept for what is small, which never waits
// for anything large.
type Memory struct {
	total        int64
	small, large *memoryPool
}

// smallParts is how many parts the memory has, of which one is for what is small.
const smallParts = 8

// NewMemory bounds them to so many bytes: at least 512 KiB, so that each tenant's
// share of the least part has room for a small body.
func NewMemory(bytes int64) *Memory {
	small := bytes / smallParts
	return &Memory{total: bytes, small: newMemoryPool(small), large: newMemoryPool(bytes - small)}
}

// memoryPatience is how long a request waits for others to let go.
const memoryPatience = 10 * time.Second

// Take reserves room for so many bytes for a tenant: 32 KiB and less of what is for
// small bodies, more of the rest. Each serves a tenant's requests in the order in
// which they came, and who waits for others of its tenant holds up no other
// tenant. What is larger than all that a tenant may have there gets all of that, and
// so goes alone. release may be called more than once.
//
// Errors: unavailable overloaded when there is no room for long; ctx's.
func (m *Memory) Take(ctx context.Context, tenant domain.TenantID, bytes int64) (release func(), err error) {
	pool := m.large
	if bytes <= smallBody {
		pool = m.small
	}
	waiting, cancel := context.WithTimeout(ctx, memoryPatience)
	defer cancel()
	if release, err = pool.take(waiting, tenant, bytes); err == nil {
		return release, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, domain.Unavailable("overloaded", "Too many large bodies are under way. Try again.").After(time.Second)
}

// hold is Take for as long as use takes, and for longer only when it succeeds:
// release is the caller's then. An error or a panic gives the room back.
func (m *Memory) hold(ctx context.Context, tenant domain.TenantID, bytes int64, use func() error) (release func(), err error) {
	letGo, err := m.Take(ctx, tenant, bytes)
	if err != nil {
		return nil, err
	}
	defer func() {
		if release == nil {
			letGo()
		}
	}()
	if err := use(); err != nil {
		return nil, err
	}
	return letGo, nil
}
