package bench

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Comparison is a product and what it is compared with, measured in turns.
type Comparison struct {
	What       string
	Product    string
	References []Reference // none where only the product's own times matter
	product    round
}

// Reference is what a product is compared with.
type Reference struct {
	Name    string // in a word or two
	What    string
	AtLeast float64 // the ratio to reach; 0 where none is set
	measure round
}

// against is the one reference of a comparison.
func against(name, what string, atLeast float64, measure round) []Reference {
	return []Reference{{Name: name, What: what, AtLeast: atLeast, measure: measure}}
}

// Outcome is a comparison's medians.
type Outcome struct {
	Comparison
	Rate     float64       // of the product
	P50, P99 time.Duration // of the product
	Cost     Cost          // of one operation of the product
	Against  []Against     // one a reference

	// MemoryAtMost is what the cost's memory is to stay within; 0 where nothing is set.
	MemoryAtMost int64
}

// Against is how the product did beside one reference.
type Against struct {
	Reference
	Rate   float64   // of the reference
	Ratios []float64 // of the product's rate to the reference's, one a round, sorted
}

// Ratio is the median of the rounds' ratios.
func (a Against) Ratio() float64 { return a.Ratios[len(a.Ratios)/2] }

// Reached tells whether the ratio is what it must be.
func (a Against) Reached() bool { return a.Ratio() >= a.AtLeast }

// run measures all sides in turns, so that whatever else the machine does falls
// on all. A first round of each warms up and isn't counted.
func (c Comparison) run(ctx context.Context, rounds int, length time.Duration) (Outcome, error) {
	products := make([]Result, rounds)
	references := make([][]Result, len(c.References)) // by reference, then round
	for i := range references {
		references[i] = make([]Result, rounds)
	}
	for i := range rounds + 1 {
		counted := max(i-1, 0) // the second round takes the first one's place
		for j, reference := range c.References {
			result, err := reference.measure(ctx, length)
			if err != nil {
				return Outcome{}, fmt.Errorf("%s: %s: %w", c.What, reference.Name, err)
			}
			references[j][counted] = result
		}
		result, err := c.product(ctx, length)
		if err != nil {
			return Outcome{}, fmt.Errorf("%s: product: %w", c.What, err)
		}
		products[counted] = result
	}
	outcome := Outcome{
		Comparison: c,
		Rate:       median(products, Result.Rate),
		P50:        median(products, func(r Result) time.Duration { return r.P50 }),
		P99:        median(products, func(r Result) time.Duration { return r.P99 }),
	}
	for j, reference := range c.References {
		outcome.Against = append(outcome.Against, beside(reference, products, references[j]))
	}
	return outcome, nil
}

// beside compares results of the same rounds.
func beside(reference Reference, products, references []Result) Against {
	a := Against{Reference: reference, Rate: median(references, Result.Rate)}
	for i := range products {
		a.Ratios = append(a.Ratios, products[i].Rate()/references[i].Rate())
	}
	slices.Sort(a.Ratios)
	return a
}

func median[T float64 | time.Duration](results []Result, of func(Result) T) T {
	var values []T
	for _, r := range results {
		values = append(values, of(r))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
