package bench

import (
	"context"
	"fmt"
	"time"
)

// tenthTimes are the times of a migration's tenths, and of the bare loop before each
// of them and behind the last.
type tenthTimes struct {
	moved []Result // one more loop than these
	loops []Result
}

func (t *tenthTimes) addLoop(ctx context.Context, loop round, length time.Duration) error {
	result, err := loop(ctx, length)
	t.loops = append(t.loops, result)
	return err
}

// around is what the loops before and behind each tenth come to together.
func (t *tenthTimes) around() []Result {
	both := make([]Result, len(t.moved))
	for i := range both {
		a, b := t.loops[i], t.loops[i+1]
		both[i] = Result{Operations: a.Operations + b.Operations, Elapsed: a.Elapsed + b.Elapsed}
	}
	return both
}

// outcomes hold the move to the bare loop, and its end to its beginning.
func (t *tenthTimes) outcomes(cost Cost) []Outcome {
	bare := Reference{Name: "bare PUT and GET", AtLeast: 0.9,
		What: fmt.Sprintf("the AWS SDK, a create-only PUT with its SHA-256 and a GET that is verified, %d callers, before and behind each tenth", movers)}
	whole := Outcome{
		Comparison:   Comparison{What: "migrate 8 KiB", Product: fmt.Sprintf("records of one body of 8 KiB from format 1 to format 2, one worker, %d bodies in flight; the median tenth", movers)},
		Rate:         median(t.moved, Result.Rate),
		Cost:         cost,
		MemoryAtMost: memoryToMove,
		Against:      []Against{beside(bare, t.moved, t.around())},
	}
	last := len(t.moved) - 1
	end := Outcome{
		Comparison: Comparison{What: "the last tenth", Product: "the last tenth of these records"},
		Rate:       t.moved[last].Rate(),
		Cost:       cost,
		Against: []Against{
			beside(Reference{Name: "the first tenth", What: "the first tenth of these records", AtLeast: 0.9}, t.moved[last:], t.moved[:1]),
			t.evened(last),
		},
	}
	return []Outcome{whole, end}
}

// evened compares the last tenth with the first by what each has of the bare loop
// around it: the machine may have become another meanwhile.
func (t *tenthTimes) evened(last int) Against {
	around := t.around()
	share := func(i int) float64 { return t.moved[i].Rate() / around[i].Rate() }
	return Against{
		Reference: Reference{Name: "the first, evened", What: "the same, each by what it has of the bare loop around it"},
		Rate:      t.moved[0].Rate(),
		Ratios:    []float64{share(last) / share(0)},
	}
}
