package bench

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// rates is a side whose rounds have these rates, one behind the other.
func rates(perSecond ...int) round {
	return func(context.Context, time.Duration) (Result, error) {
		n := perSecond[0]
		perSecond = perSecond[1:]
		return Result{Operations: n, Elapsed: time.Second, P50: time.Duration(n), P99: time.Duration(2 * n)}, nil
	}
}

func TestRun_WarmUpIsNotCounted_RatiosAreThoseOfTheSameRound(t *testing.T) {
	t.Parallel()
	c := Comparison{product: rates(1, 300, 100, 200), References: []Reference{
		{Name: "slow", AtLeast: 3, measure: rates(1000, 100, 50, 50)},
		{Name: "fast", AtLeast: 0.5, measure: rates(1, 600, 400, 500)},
	}}
	got, err := c.run(t.Context(), 3, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if got.Rate != 200 || got.P50 != 200 || got.P99 != 400 {
		t.Errorf("medians of the product: %v, %v, %v", got.Rate, got.P50, got.P99)
	}
	type verdict struct {
		Name    string
		Rate    float64
		Ratios  []float64
		Ratio   float64
		Reached bool
	}
	var verdicts []verdict
	for _, a := range got.Against {
		verdicts = append(verdicts, verdict{a.Name, a.Rate, a.Ratios, a.Ratio(), a.Reached()})
	}
	want := []verdict{
		{"slow", 50, []float64{2, 3, 4}, 3, true},
		{"fast", 500, []float64{0.25, 0.4, 0.5}, 0.4, false},
	}
	if diff := cmp.Diff(want, verdicts); diff != "" {
		t.Errorf("against the references (-want +got):\n%s", diff)
	}
}

func TestReadPgbench(t *testing.T) {
	t.Parallel()
	const good = "number of transactions actually processed: 3000\nlatency average = 1 ms\ntps = 1500.000000 (without initial connection time)\n"
	got, err := readPgbench([]byte(good))
	if want := (Result{Operations: 3000, Elapsed: 2 * time.Second}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	for _, bad := range []string{
		"", "number of transactions actually processed: 0\n", "number of transactions actually processed: 7\n",
	} {
		if got, err := readPgbench([]byte(bad)); err == nil {
			t.Errorf("%q was read as %+v", bad, got)
		}
	}
}
