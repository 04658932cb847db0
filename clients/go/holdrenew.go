package holdfast

import (
	"context"
	"time"
)

const (
	longestRenewal = 10 * time.Second      // one try without an answer
	shortestPause  = 10 * time.Millisecond // between two tries, however little time is left
)

// keepRenewed renews the lease until it is over.
func (l *HeldLease) keepRenewed() {
	for failures := 0; l.Err() == nil; {
		pause := l.untilRenewal()
		if failures > 0 {
			pause = max(min(backoff(failures), l.left()/4), shortestPause)
		}
		if !l.await(pause) {
			return
		}
		switch err := try(l.ctx, min(l.left()/2, longestRenewal), l.renew); {
		case err == nil:
			failures = 0
		case l.lostBy(err) != nil:
			l.end(l.lostBy(err))
		default:
			failures++
			l.failed(err)
		}
	}
}

// await waits for a time, or until a renewal is wanted; not when the lease is over.
func (l *HeldLease) await(pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.due:
	case <-l.ctx.Done():
		return false
	}
	return true
}

// renew is one try. A renewal never shortens a term, so any number of them may be
// under way or lost.
func (l *HeldLease) renew(ctx context.Context) error {
	release, err := l.take(ctx, 1)
	if err != nil {
		return err
	}
	defer release()
	sent := time.Now()
	answer, err := l.once.RenewLeaseWithResponse(ctx, l.world, &RenewLeaseParams{HoldfastLease: l.authority})
	if err == nil {
		l.extend(sent, milliseconds(answer.JSON200.RemainingMs))
	}
	return err
}

// renewNow wants a renewal before the next is due.
func (l *HeldLease) renewNow() {
	select {
	case l.due <- struct{}{}:
	default: // one is wanted already
	}
}

// untilRenewal is the time until two thirds of the term are left. Where the service
// gives less than a term, since the lease isn't activated yet, it is at least a
// tenth.
func (l *HeldLease) untilRenewal() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(time.Until(l.expires)-l.term*2/3, l.term/marginPart)
}

// left is the time until the lease is over.
func (l *HeldLease) left() time.Duration { return max(time.Until(l.Deadline()), 0) }

// failed keeps a failure, for the reason of what may come.
func (l *HeldLease) failed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failure = err
}
