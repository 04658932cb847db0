package holdfast

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// HeldLease is a lease that this process holds, and what may be done under it. Its
// methods may be called at once.
//
// It is over when it was given away or lost, and whatever asks for more gets the
// reason. Its end is known by the monotonic clock alone, and is looked at before
// every request that is sent under it: a timer that comes late, since the process
// was stopped, makes no difference.
type HeldLease struct {
	world     WorldID
	epoch     int64
	authority HoldfastLease
	term      time.Duration
	margin    time.Duration        // by which it is over before it expires
	once      *ClientWithResponses // a call is one try, and is not sent once the lease is over

	ctx context.Context // ends with the lease, and not before
	due chan struct{}   // a renewal is wanted now

	// An append or a renewal takes one, a handoff all: so none of them is fenced by
	// the handoff of its own process.
	turns *semaphore.Weighted

	mu      sync.Mutex
	expires time.Time // at the earliest
	failure error     // of the last renewal, nil if it succeeded
	timer   *time.Timer
	over    error
	cancel  func(cause error) // everything that depends on the lease
}

// allTurns is as many as can't be out at once.
const allTurns = math.MaxInt64

const (
	marginPart    = 10 // of the term
	longestMargin = 3 * time.Second
)

// newHeldLease makes what is known of a lease from an answer and from when its
// request was sent, and the context of the work: it ends with ctx and with the lease.
func newHeldLease(ctx context.Context, client *ClientWithResponses, grant LeaseGrant, sent time.Time) (*HeldLease, context.Context, error) {
	term := time.Duration(grant.TermSeconds) * time.Second
	l := &HeldLease{
		world:     grant.WorldID,
		epoch:     grant.Epoch,
		authority: fmt.Sprintf("%d.%s", grant.Epoch, grant.Secret),
		term:      term,
		margin:    min(term/marginPart, longestMargin),
		due:       make(chan struct{}, 1),
		turns:     semaphore.NewWeighted(allTurns),
		expires:   sent.Add(milliseconds(grant.RemainingMs)),
	}
	var err error
	if l.once, err = singly(client, l.Err); err != nil {
		return nil, nil, err
	}
	work, cancelWork := context.WithCancelCause(ctx)
	kept, cancelKept := context.WithCancelCause(context.WithoutCancel(ctx))
	l.ctx, l.cancel = kept, func(cause error) {
		cancelWork(cause)
		cancelKept(cause)
	}
	l.mu.Lock() // it may come at once
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(time.Until(l.deadline()), func() { l.Err() })
	return l, work, nil
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// World is whose lease it is.
func (l *HeldLease) World() WorldID { return l.world }

// Epoch is the lease's.
func (l *HeldLease) Epoch() int64 { return l.epoch }

// Authority is the value of the header Holdfast-Lease, for requests that are made
// without this type. They must not be sent once Err isn't nil.
func (l *HeldLease) Authority() HoldfastLease { return l.authority }

// Deadline is when the lease is over unless it is renewed, by this process's clock.
func (l *HeldLease) Deadline() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deadline()
}

func (l *HeldLease) deadline() time.Time { return l.expires.Add(-l.margin) }

// Err tells why the lease is over: ErrHandedOff or a *LeaseLostError; nil while it
// isn't.
func (l *HeldLease) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.check()
}

// check ends the lease when its time has come. The caller has the lock.
func (l *HeldLease) check() error {
	if l.over == nil && !time.Now().Before(l.deadline()) {
		l.stop(l.lost(ErrNotRenewed, l.failure))
	}
	return l.over
}

// end ends the lease, unless it is over already, and gives the reason that counts.
func (l *HeldLease) end(reason error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.check() == nil {
		l.stop(reason)
	}
	return l.over
}

// stop has the lock.
func (l *HeldLease) stop(reason error) {
	l.over = reason
	l.timer.Stop()
	l.cancel(reason)
}

// extend takes note of an answer: the lease had that time left when the request was
// decided on, so at least when it was sent. What is over stays over.
func (l *HeldLease) extend(sent time.Time, remaining time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.check() != nil {
		return
	}
	l.failure = nil
	if expires := sent.Add(remaining); expires.After(l.expires) {
		l.expires = expires
		l.timer.Reset(time.Until(l.deadline()))
	}
}

// take takes so many turns, once they are free; not when the lease is over, or ctx.
func (l *HeldLease) take(ctx context.Context, turns int64) (release func(), err error) {
	within, cancel := l.within(ctx)
	defer cancel()
	if err := l.turns.Acquire(within, turns); err != nil {
		return nil, cmp.Or(l.Err(), err)
	}
	return func() { l.turns.Release(turns) }, nil
}
