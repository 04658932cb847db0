package main

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/internal/config"
)

// closeTimeout bounds what ends after the last request: sending telemetry,
// closing connections.
const closeTimeout = 5 * time.Second

// stop drains: readyz fails first, while requests are still taken for a moment,
// so that whoever spreads the load sees it; then no connection is taken any
// more, and requests under way get their time to finish. What is left then is
// cut off, and is an error.
func (p *process) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), p.config.Drain)
	defer cancel()
	p.api.Drain()
	p.public.turnAway()
	linger(ctx, lingering(p.config))
	err := p.public.shutdown(ctx)
	return errors.Join(err, p.close(context.Background()))
}

// lingering is how long a draining process still takes requests. In development
// nobody spreads any load.
func lingering(c config.Config) time.Duration {
	if c.Environment == config.Development {
		return 0
	}
	return min(c.Drain/4, 5*time.Second)
}

func linger(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// close ends what start began, the last first.
func (p *process) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	var errs []error
	for i := len(p.closers) - 1; i >= 0; i-- {
		errs = append(errs, p.closers[i](ctx))
	}
	return errors.Join(errs...)
}
