package holdfast

import (
	"context"
	"errors"
	"time"
)

// keepClaimed sends heartbeats until the batch is over.
func (b *HeldBatch) keepClaimed() {
	for failures := 0; b.Err() == nil; {
		left := b.left()
		pause := max(left+b.margin-b.term*2/3, b.term/marginPart)
		if failures > 0 {
			pause = max(min(backoff(failures), left/4), shortestPause)
		}
		if wait(b.ctx, pause) != nil {
			return
		}
		if b.Err() != nil {
			return
		}
		if err := try(b.ctx, min(b.left()/2, longestRenewal), b.beat); err == nil {
			failures = 0
		} else {
			failures++
			b.failed(err)
		}
	}
}

// beat is one heartbeat. It never shortens a claim, so any number of them may be under
// way or lost. Claims that are over, or a refusal that is final, end the batch.
func (b *HeldBatch) beat(ctx context.Context) error {
	request := Heartbeat{TermSeconds: seconds(b.term)}
	for _, key := range b.Items() {
		request.Items = append(request.Items, ClaimedItem{Key: key, Generation: b.claims[key]})
	}
	sent := time.Now()
	answer, err := b.once.HeartbeatBatchWithResponse(ctx, b.collection, b.id, &HeartbeatBatchParams{HoldfastLease: optional(b.lease)}, request)
	var refused *Error
	switch {
	case errors.As(err, &refused) && final(refused):
		b.end(b.lost(b.Items(), ErrClaimsExpired, err))
		return nil
	case err != nil:
		return err
	case answer.JSON200 == nil:
		return errNoJSON
	}
	var over []ItemKey
	for _, item := range answer.JSON200.Items {
		if item.State != "leased" {
			over = append(over, item.Key)
		}
	}
	if len(over) > 0 {
		b.end(b.lost(over, ErrClaimsExpired, nil))
		return nil
	}
	b.extend(sent)
	return nil
}

// final tells that a refusal stays one.
func final(refused *Error) bool {
	_, again := repeatAfter(refused, 1)
	return !again && refused.Status < 500
}

// extend takes note of an answer: the claims last for a term from when the request
// was decided on, so at least from when it was sent.
func (b *HeldBatch) extend(sent time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failure = nil
	if expires := sent.Add(b.term); expires.After(b.expires) {
		b.expires = expires
	}
}

// left is the time until the claims are given up, unless a heartbeat comes through.
func (b *HeldBatch) left() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(time.Until(b.deadline()), 0)
}

// failed keeps a failure, for the reason of what may come.
func (b *HeldBatch) failed(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failure = err
}
