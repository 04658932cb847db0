package bench

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"time"
)

// Options of a run.
type Options struct {
	Environ []string      // the stack's settings
	Rounds  int           // that count; each measures all sides
	Length  time.Duration // of one side of a round; whole seconds
	Only    string        // measures only what has this in its name; "" for all
	Profile string        // a folder for profiles of the API, two a comparison: CPU and allocations; "" for none
	Log     io.Writer     // of the processes it starts
	Note    func(format string, args ...any)
}

func (o Options) verify() error {
	if o.Rounds < 1 {
		return errors.New("at least one round must count")
	}
	if o.Length < time.Second || o.Length%time.Second != 0 {
		return errors.New("the length of a side is at least a second, in whole seconds")
	}
	return nil
}

// measure runs the comparisons that are asked for, and counts what they cost.
func (o Options) measure(ctx context.Context, s *stack, comparisons []Comparison) (outcomes []Outcome, err error) {
	for _, c := range comparisons {
		if !strings.Contains(c.What, o.Only) {
			continue
		}
		o.Note("measuring: %s", c.What)
		// A token lives a quarter of an hour, and all comparisons together longer.
		if err := s.tenant.logIn(ctx, s.key); err != nil {
			return outcomes, err
		}
		var cost Cost
		c.product = s.counted(c.product, &cost)
		if o.Profile != "" {
			c.product = s.api.profiled(c.product, filepath.Join(o.Profile, strings.ReplaceAll(c.What, " ", "-")))
		}
		outcome, err := c.run(ctx, o.Rounds, o.Length)
		if err != nil {
			return outcomes, err
		}
		outcome.Cost = cost
		outcomes = append(outcomes, outcome)
	}
	return outcomes, nil
}
