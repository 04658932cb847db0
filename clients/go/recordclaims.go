package holdfast

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// HeldBatch is a batch whose items this process works on. Its methods may be called
// at once.
type HeldBatch struct {
	client, once *ClientWithResponses // once tries once
	collection   CollectionName
	id           BatchID
	lease        HoldfastLease
	term, margin time.Duration // the claims are given up so long before they expire
	claims       map[ItemKey]ClaimGeneration
	held         []BatchItem

	ctx    context.Context // ends with the batch, and not before
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	expires time.Time // at the earliest
	failure error     // of the last heartbeat, nil if it succeeded
	over    error
}

// Why a batch's claims are lost.
var (
	// ErrClaimsExpired says that the service has ended claims: another batch may have
	// the items.
	ErrClaimsExpired = errors.New("claims are over")

	// ErrClaimsNotKept says that no heartbeat came through in time, by this process's
	// own clock.
	ErrClaimsNotKept = errors.New("no heartbeat came through in time")
)

// BatchLostError says that a batch lost claims while its items were worked on. What
// was made of these must be thrown away; another batch works on them, or will.
type BatchLostError struct {
	BatchID BatchID
	Items   []ItemKey // whose claims are over, in their order
	Reason  error     // ErrClaimsExpired or ErrClaimsNotKept
	Err     error     // the answer or failure that it was known by, if there was one
}

func (e *BatchLostError) Error() string {
	text := fmt.Sprintf("holdfast: the batch %s has lost %d of its items: %v", e.BatchID, len(e.Items), e.Reason)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the reason and what it was known by.
func (e *BatchLostError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Reason}
	}
	return []error{e.Reason, e.Err}
}

// ID is the batch's.
func (b *HeldBatch) ID() BatchID { return b.id }

// Items are those that the batch got, by their keys.
func (b *HeldBatch) Items() []ItemKey { return slices.Sorted(maps.Keys(b.claims)) }

// Held are the items that other batches have: until ExpiresAt where State is "held",
// nobody knows for how long where it is "lease_expired", since this batch had them.
func (b *HeldBatch) Held() []BatchItem { return slices.Clone(b.held) }

// Publish publishes what is made of an item before the batch is completed, under the
// batch's claim: a completion has at most 8 MiB of bodies. Leave the item out of the
// completion. It is what Publish is otherwise; claim_lost says that the claim is over.
func (b *HeldBatch) Publish(ctx context.Context, key ItemKey, change RecordChange) (Published, error) {
	generation, has := b.claims[key]
	if !has {
		return Published{}, fmt.Errorf("holdfast: the batch %s doesn't have the item %q", b.id, key)
	}
	change.Batch, change.Lease = &BatchClaim{BatchID: b.id, Generation: generation}, b.lease
	return Publish(ctx, b.client, b.collection, key, change)
}

// Err tells why the claims are lost: a *BatchLostError; nil while they are kept.
func (b *HeldBatch) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over == nil && !time.Now().Before(b.deadline()) {
		b.stop(b.lost(b.Items(), ErrClaimsNotKept, b.failure))
	}
	return b.over
}

func (b *HeldBatch) deadline() time.Time { return b.expires.Add(-b.margin) }

func (b *HeldBatch) lost(items []ItemKey, reason, by error) *BatchLostError {
	return &BatchLostError{BatchID: b.id, Items: items, Reason: reason, Err: by}
}

// end ends the batch, unless it is over already.
func (b *HeldBatch) end(reason error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over == nil {
		b.stop(reason)
	}
}

// stop has the lock.
func (b *HeldBatch) stop(reason error) {
	b.over = reason
	b.cancel(reason)
}

// within gives work's context: it ends with ctx and with the batch.
func (b *HeldBatch) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(b.ctx, func() { cancel(context.Cause(b.ctx)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// take takes the answer to a claim that was sent then.
func (b *HeldBatch) take(batch *Batch, sent time.Time) {
	for _, item := range batch.Items {
		switch {
		case item.State == "leased" && item.Generation != nil:
			b.claims[item.Key] = *item.Generation
		case item.State == "held" || item.State == "lease_expired":
			b.held = append(b.held, item)
		}
	}
	b.extend(sent)
}
