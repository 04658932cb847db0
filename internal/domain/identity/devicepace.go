package identity

import "time"

const (
	// A poll may come this much before its interval is over: clocks differ, and
	// so do the ways of a request.
	paceLeeway = time.Second
	// paceStep is what too fast a poll adds to the interval, for good (RFC 8628,
	// section 3.5).
	paceStep = 5 * time.Second
	maxPace  = time.Minute
)

// pace is how a device polls.
type pace struct {
	interval time.Duration // that it must keep, in whole seconds
	polledAt *time.Time    // the last poll of all; nil before the first
	pacedAt  *time.Time    // the last that kept its distance
}

// poll judges a poll that comes now. The first may come at once. A poll is early
// if it comes before its interval is over since the last one that wasn't: so an
// early one doesn't make the next one early too.
//
// An early poll adds to the interval only if it comes too soon after the last
// poll of all, faster than any client may poll that has kept the interval it was
// first told. A client that goes on at that one then gets a slow_down now and
// then, but no endless slow-down.
func (p pace) poll(now time.Time) (next pace, early bool) {
	if p.polledAt == nil {
		return pace{p.interval, &now, &now}, false
	}
	if now.Before(*p.polledAt) {
		now = *p.polledAt
	}
	if now.Sub(*p.pacedAt) >= p.interval-paceLeeway {
		return pace{p.interval, &now, &now}, false
	}
	next = pace{p.interval, &now, p.pacedAt}
	if now.Sub(*p.polledAt) < PollInterval-paceLeeway {
		next.interval = min(p.interval+paceStep, maxPace)
	}
	return next, true
}
