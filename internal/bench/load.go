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

// Comparison is a product and its reference, measured in turns.
type Comparison struct {
	What      string
	Product   string
	Reference string
	AtLeast   float64 // the ratio to reach; 0 where none is set
	product   round
	reference round
}

// Outcome is a comparison's medians.
type Outcome struct {
	Comparison
	ProductRate   float64
	ReferenceRate float64
	P50, P99      time.Duration // of the product
	Ratios        []float64     // a round, sorted
	Cost          Cost          // of one operation of the product
}

// Ratio is the median of the rounds' ratios.
func (o Outcome) Ratio() float64 { return o.Ratios[len(o.Ratios)/2] }

// Reached tells whether the ratio is what it must be.
func (o Outcome) Reached() bool { return o.Ratio() >= o.AtLeast }

// run measures both sides in turns, so that whatever else the machine does
// falls on both. A first round of each warms up and isn't counted.
func (c Comparison) run(ctx context.Context, rounds int, length time.Duration) (Outcome, error) {
	outcome := Outcome{Comparison: c}
	var products, references []Result
	for i := range rounds + 1 {
		reference, err := c.reference(ctx, length)
		if err != nil {
			return outcome, fmt.Errorf("%s: reference: %w", c.What, err)
		}
		product, err := c.product(ctx, length)
		if err != nil {
			return outcome, fmt.Errorf("%s: product: %w", c.What, err)
		}
		if i == 0 {
			continue
		}
		products, references = append(products, product), append(references, reference)
		outcome.Ratios = append(outcome.Ratios, product.Rate()/reference.Rate())
	}
	slices.Sort(outcome.Ratios)
	outcome.ProductRate = median(products, Result.Rate)
	outcome.ReferenceRate = median(references, Result.Rate)
	outcome.P50 = median(products, func(r Result) time.Duration { return r.P50 })
	outcome.P99 = median(products, func(r Result) time.Duration { return r.P99 })
	return outcome, nil
}

func median[T float64 | time.Duration](results []Result, of func(Result) T) T {
	var values []T
	for _, r := range results {
		values = append(values, of(r))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
