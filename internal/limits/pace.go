package limits

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

const (
	// turnWithin is how long a request waits for its turn.
	turnWithin = time.Second
	// inLine is how many may wait for each turn that there is.
	inLine = 4
)

// pace is how fast a tenant may go, in one process. Changed limits make another;
// whoever is under way gives back to the one that admitted it.
type pace struct {
	limits   Limits
	requests *rate.Limiter
	entries  *rate.Limiter
	turns    *semaphore.Weighted
	lined    atomic.Int64 // those that wait for a turn
	waiting  atomic.Int64 // requests that wait for others, once admitted
	policy   string
}

func newPace(l Limits) *pace {
	return &pace{
		limits:   l,
		requests: rate.NewLimiter(rate.Limit(l.RequestsPerSecond), int(l.RequestsPerSecond)),
		entries:  rate.NewLimiter(rate.Limit(l.EntriesPerSecond), int(l.EntriesPerSecond)),
		turns:    semaphore.NewWeighted(l.ConcurrentRequests),
		policy:   policyRequests + ";q=" + strconv.FormatInt(l.RequestsPerSecond, 10) + ";w=1",
	}
}

const policyRequests = `"requests"` // by which the header names the rate of requests

// Admission is what a request is told of its tenant's rate, admitted or not, in
// the form of the header fields RateLimit-Policy and RateLimit
// (draft-ietf-httpapi-ratelimit-headers-10).
type Admission struct {
	Policy    string
	Remaining string
}

// Admit admits a request of a tenant, and may have it wait for its turn. The one
// who is admitted calls done at its end. waits tells a request that will wait for
// others for long, and so takes no turn from those that work.
//
// Errors: limited rate_limited, too_many_requests or too_many_waiting, with when
// to try again.
func (l *Limiter) Admit(ctx context.Context, tenant domain.TenantID, waits bool) (done func(), a Admission, err error) {
	p := l.of(ctx, tenant).pace.Load()
	now := l.now()
	admitted := p.requests.AllowN(now, 1)
	a = Admission{Policy: p.policy, Remaining: remaining(p.requests, now)}
	if !admitted {
		l.refusals.count(ctx, requestsPerSecond)
		return nil, a, errRate.After(until(1, p.requests, now))
	}
	limit := concurrentRequests
	if waits {
		limit = waitingRequests
		done, err = p.wait()
	} else {
		done, err = p.turn(ctx)
	}
	if err != nil {
		l.refusals.count(ctx, limit)
	}
	return done, a, err
}

// remaining tells how many may come at once now, and when there will be one more
// second's worth.
func remaining(r *rate.Limiter, now time.Time) string {
	left := max(int64(r.TokensAt(now)), 0)
	return policyRequests + ";r=" + strconv.FormatInt(left, 10) + ";t=1"
}

// until is how long it takes until there are so many tokens.
func until(n int, r *rate.Limiter, now time.Time) time.Duration {
	missing := float64(n) - r.TokensAt(now)
	return time.Duration(missing / float64(r.Limit()) * float64(time.Second))
}

// turn takes one of the turns, in the order of who came first.
func (p *pace) turn(ctx context.Context) (done func(), err error) {
	give := func() { p.turns.Release(1) }
	if p.turns.TryAcquire(1) {
		return give, nil
	}
	if p.lined.Add(1) > inLine*p.limits.ConcurrentRequests {
		p.lined.Add(-1)
		return nil, errCrowded.After(turnWithin)
	}
	defer p.lined.Add(-1)
	ctx, cancel := context.WithTimeout(ctx, turnWithin)
	defer cancel()
	if p.turns.Acquire(ctx, 1) != nil {
		return nil, errCrowded.After(turnWithin)
	}
	return give, nil
}

// wait admits one more that waits for others.
func (p *pace) wait() (done func(), err error) {
	if p.waiting.Add(1) > p.limits.WaitingRequests {
		p.waiting.Add(-1)
		return nil, errWaiting.After(turnWithin)
	}
	return func() { p.waiting.Add(-1) }, nil
}

// Entries takes so many journal entries off the tenant's rate. A request with
// more than a second's worth passes when the bucket is full.
//
// Errors: limited rate_limited, with when to try again.
func (l *Limiter) Entries(ctx context.Context, tenant domain.TenantID, n int) error {
	p := l.of(ctx, tenant).pace.Load()
	now := l.now()
	n = min(n, p.entries.Burst())
	if p.entries.AllowN(now, n) {
		return nil
	}
	l.refusals.count(ctx, entriesPerSecond)
	return errEntries.After(until(n, p.entries, now))
}

// ImportRows is how many rows one import of the tenant may have.
func (l *Limiter) ImportRows(ctx context.Context, tenant domain.TenantID) int64 {
	return l.of(ctx, tenant).pace.Load().limits.ImportRows
}

var (
	errRate = domain.Limited("rate_limited",
		"The tenant sends more requests a second than it may. Send fewer, and try again when Retry-After says.")
	errCrowded = domain.Limited("too_many_requests",
		"The tenant has more requests under way than it may. Send fewer at once, and try again when Retry-After says.")
	errWaiting = domain.Limited("too_many_waiting",
		"The tenant has more requests that wait for others than it may. End some, and try again.")
	errEntries = domain.Limited("rate_limited",
		"The tenant appends more entries a second than it may. Nothing was appended; try again when Retry-After says.")
)
