package objectstore

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	firstPause   = 50 * time.Millisecond // before the second try, at most
	longestPause = 5 * time.Second       // between two tries, unless the store asks for more
	// patience is the longest pause that a store may ask for. Whoever has to
	// wait longer is told so.
	patience = 20 * time.Second
)

// attempts are the tries of one piece of work.
type attempts struct {
	made, most int
}

// pause waits before the next try, somewhere between nothing and twice as long as
// the last time ("full jitter"), and never less than the store asks for. It gives
// the final error when there is to be no other try.
func (a *attempts) pause(ctx context.Context, last outcome) error {
	a.made++
	longest := min(longestPause, firstPause<<(a.made-1))
	wait := max(last.after, rand.N(longest))
	deadline, bounded := ctx.Deadline()
	if a.made >= a.most || wait > patience || bounded && time.Until(deadline) < wait {
		return errUnavailable.Because(last.err).After(max(last.after, time.Second))
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
