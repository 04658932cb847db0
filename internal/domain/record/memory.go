package record

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Memory bounds the bytes of bodies that a process holds at once: those of
// requests on their way in, and those that are verified on their way out. What a
// body is copied to while it goes to the database or comes from there isn't
// counted: the driver's buffers have up to twice the bytes of the bodies that are
// under way. Those of the object store are small.
type Memory struct {
	total int64
	free  *semaphore.Weighted
}

// NewMemory bounds them to so many bytes.
func NewMemory(bytes int64) *Memory {
	return &Memory{total: bytes, free: semaphore.NewWeighted(bytes)}
}

// memoryPatience is how long a request waits for others to let go.
const memoryPatience = 10 * time.Second

// Take reserves room for so many bytes, first come, first served. What is larger
// than all there is gets all there is, and so goes alone. release may be called
// more than once.
//
// Errors: unavailable overloaded when there is no room for long; ctx's.
func (m *Memory) Take(ctx context.Context, bytes int64) (release func(), err error) {
	bytes = min(bytes, m.total)
	waiting, cancel := context.WithTimeout(ctx, memoryPatience)
	defer cancel()
	if err := m.free.Acquire(waiting, bytes); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, domain.Unavailable("overloaded", "Too many large bodies are under way. Try again.").After(time.Second)
	}
	held := true
	return func() {
		if held {
			held = false
			m.free.Release(bytes)
		}
	}, nil
}

// hold is Take for as long as use takes, and for longer only when it succeeds:
// release is the caller's then. An error or a panic gives the room back.
func (m *Memory) hold(ctx context.Context, bytes int64, use func() error) (release func(), err error) {
	letGo, err := m.Take(ctx, bytes)
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
