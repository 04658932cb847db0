package main

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"

	"github.com/holdfast-dev/holdfast/internal/bench"
)

// outcomeValue is an outcome for scripts. Commits, syncs, allocations and CPU are
// those of one operation.
type outcomeValue struct {
	What        string           `json:"what"`
	Product     string           `json:"product"`
	Rate        float64          `json:"rate"` // operations a second
	P50         float64          `json:"p50_ms"`
	P99         float64          `json:"p99_ms"`
	Commits     float64          `json:"commits"`
	Syncs       *float64         `json:"syncs"` // null where the server doesn't tell
	Allocations float64          `json:"allocations"`
	CPU         *float64         `json:"cpu_us"`                         // null where the system doesn't tell
	Memory      int64            `json:"memory_bytes"`                   // 0 where the system doesn't tell
	MemoryMost  int64            `json:"memory_at_most_bytes,omitempty"` // what it is to stay within
	References  []referenceValue `json:"references"`
}

type referenceValue struct {
	Name    string    `json:"name"`
	What    string    `json:"what"`
	Rate    float64   `json:"rate"`
	Ratio   float64   `json:"ratio"`
	Ratios  []float64 `json:"ratios"`
	AtLeast float64   `json:"at_least"`
	Reached bool      `json:"reached"`
}

func outcomesAnswer(outcomes []bench.Outcome) answer {
	values := make([]outcomeValue, len(outcomes))
	for i, o := range outcomes {
		values[i] = outcomeValue{
			What: o.What, Product: o.Product, Rate: o.Rate, P50: milliseconds(o.P50), P99: milliseconds(o.P99),
			Commits: o.Cost.Commits, Allocations: o.Cost.Allocations, Memory: o.Cost.Memory,
			MemoryMost: o.MemoryAtMost, References: []referenceValue{},
		}
		if !math.IsNaN(o.Cost.Syncs) {
			values[i].Syncs = &o.Cost.Syncs
		}
		if cpu := o.Cost.CPU * 1e6; !math.IsNaN(cpu) {
			values[i].CPU = &cpu
		}
		for _, a := range o.Against {
			values[i].References = append(values[i].References, referenceValue{a.Name, a.What, a.Rate, a.Ratio(), a.Ratios, a.AtLeast, a.Reached()})
		}
	}
	return answer{value: values, write: func(out io.Writer) error { return writeOutcomes(out, outcomes) }}
}

// memoryText is the memory of an outcome in MiB, beside what it is to stay within.
func memoryText(o bench.Outcome) string {
	text := fmt.Sprint(o.Cost.Memory >> 20)
	switch {
	case o.MemoryAtMost == 0:
		return text
	case o.Cost.Memory > o.MemoryAtMost:
		return fmt.Sprintf("%s, MORE than %d", text, o.MemoryAtMost>>20)
	}
	return fmt.Sprintf("%s of %d", text, o.MemoryAtMost>>20)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// writeOutcomes writes a line for each reference, and one for a product without.
func writeOutcomes(out io.Writer, outcomes []bench.Outcome) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "what\tagainst\tratio\tat least\treached\tproduct/s\treference/s\tp50\tp99\tcommits\tsyncs\tallocations\tCPU\tMiB\tratios of the rounds\t")
	for _, o := range outcomes {
		times := fmt.Sprintf("%v\t%v\t%.3f\t%.3f\t%.0f\t%.0f µs\t%s", o.P50.Round(10*time.Microsecond), o.P99.Round(10*time.Microsecond),
			o.Cost.Commits, o.Cost.Syncs, o.Cost.Allocations, o.Cost.CPU*1e6, memoryText(o))
		if len(o.Against) == 0 {
			fmt.Fprintf(table, "%s\t\t\t\t\t%.0f\t\t%s\t\t\n", o.What, o.Rate, times)
		}
		for _, a := range o.Against {
			fmt.Fprintf(table, "%s\t%s\t%.2f\t%.2f\t%v\t%.0f\t%.0f\t%s\t%.2f\t\n", o.What, a.Name, a.Ratio(), a.AtLeast, a.Reached(), o.Rate, a.Rate, times, a.Ratios)
		}
	}
	table.Flush()
	fmt.Fprintln(out, "Commits, syncs of the database's log, allocations and CPU are those of one operation of the product; MiB is the most memory over what there was when idle. Allocations, CPU and memory are the API's, and of migrations the worker's.")
	for _, o := range outcomes {
		fmt.Fprintf(out, "%s: %s\n", o.What, o.Product)
		for _, a := range o.Against {
			fmt.Fprintf(out, "  against %s: %s\n", a.Name, a.What)
		}
	}
	return nil
}
