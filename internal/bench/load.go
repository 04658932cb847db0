package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Result is what one round of load gave.
type Result struct {
	Operations int
	Elapsed    time.Duration
	P50, P99   time.Duration
}

// Rate is operations a second.
func (r Result) Rate() float64 { return float64(r.Operations) / r.Elapsed.Seconds() }

// closedLoop runs callers side by side for a time, each calling op again as
// soon as it has returned. The first error ends the round.
func closedLoop(ctx context.Context, callers int, length time.Duration, op func(ctx context.Context, caller int) error) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	times := make([][]time.Duration, callers)
	began := time.Now()
	end := began.Add(length)
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for last := time.Now(); last.Before(end) && ctx.Err() == nil; {
				if err := op(ctx, caller); err != nil {
					cancel(fmt.Errorf("caller %d: %w", caller, err))
					return
				}
				now := time.Now()
				times[caller] = append(times[caller], now.Sub(last))
				last = now
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return Result{}, err
	}
	merged := slices.Concat(times...)
	slices.Sort(merged)
	r := Result{Operations: len(merged), Elapsed: time.Since(began)}
	if len(merged) > 0 {
		r.P50, r.P99 = merged[len(merged)/2], merged[len(merged)*99/100]
	}
	return r, nil
}

// round is one side of a comparison, for a time.
type round func(ctx context.Context, length time.Duration) (Result, error)
