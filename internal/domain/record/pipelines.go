package record

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Pipelines are the ways on which bodies go between SQL and the store: so many at
// once, of however many captures. Each takes its next body when the one before has
// been verified. When a body fails, no other begins.
type Pipelines struct {
	free chan struct{}

	mu     sync.Mutex
	failed error // of the first that did
}

// NewPipelines makes n of them.
func NewPipelines(n int) *Pipelines { return &Pipelines{free: make(chan struct{}, n)} }

// enter waits for a free one. Its error is that of the body that failed, or of ctx.
func (p *Pipelines) enter(ctx context.Context) error {
	select {
	case p.free <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed != nil {
		<-p.free
	}
	return p.failed
}

func (p *Pipelines) leave(err error) {
	if err != nil {
		p.fail(err)
	}
	<-p.free
}

func (p *Pipelines) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil {
		p.failed = err
	}
}

// Stop lets no other body begin.
func (p *Pipelines) Stop() { p.fail(errPipelinesStopped) }

var errPipelinesStopped = errors.New("no other body is to begin")

// each has something done to all by way of the pipelines. When it fails for one, or
// for one of another capture, or ctx ends, it begins with no other, and returns when
// those that are under way have ended.
func each[T any](ctx context.Context, via *Pipelines, all []T, do func(T) error) error {
	var group errgroup.Group
	var stopped error
	for _, one := range all {
		if stopped = via.enter(ctx); stopped != nil {
			break
		}
		group.Go(func() error {
			err := do(one)
			via.leave(err)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return stopped
}
