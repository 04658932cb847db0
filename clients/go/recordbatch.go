package holdfast

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// BatchOptions say what a batch claims.
type BatchOptions struct {
	// BatchID is the caller's name for the batch, 1 to 200 printable ASCII characters; a
	// random one if "". A program that may crash names its own: the same id and Owner
	// again claim what is left of the batch.
	BatchID BatchID

	Owner string        // who works on it, in the caller's own words, 1 to 200 printable ASCII characters
	Items []ItemKey     // keys, of records that exist or don't, 1 to 100
	Term  time.Duration // of the claims without a heartbeat, 5 s to 1 h in whole seconds; 1 min if 0. What a crash leaves is claimed for so long

	// Lease is the world's, for a collection that is bound to one: HeldLease.Authority.
	Lease HoldfastLease
}

// defaultClaimTerm is the service's.
const defaultClaimTerm = time.Minute

// ErrNothingClaimed says that other batches have all the items.
var ErrNothingClaimed = errors.New("holdfast: other batches have all the items")

// WorkBatch claims items of a collection, runs work, and publishes what work made of
// them, in one transaction that ends the batch: the changes by their keys, of items
// that the batch has. Items that it leaves out are released.
//
// Meanwhile the claims are kept by heartbeats, at a third of their term. When they are
// lost, or can't be kept by this process's own clock, reckoned a tenth of the term
// early, work's context ends, with a *BatchLostError as its cause. Nothing is
// published twice in any case: each publication is held to its claim where it commits.
//
// The completion says what became of each item: OutcomePublished or
// OutcomeSuperseded, with its receipt; OutcomeConflict, with the record as it stands
// in its problem; OutcomeLeaseExpired, which published nothing. It is sent under one
// operation id until there is an answer, or ctx ends. A change's Lease and Batch are
// not used; the batch's are.
//
// The error is ErrNothingClaimed; that of work, with the *BatchLostError where there
// is one, and then the claims are left to end by themselves; or an *Error where the
// service refused: batch_completed, where an earlier run of this batch did all of it.
// Where work gives no changes and no error, nothing is published and the claims are
// left likewise. The client must be one that Connect made.
func WorkBatch(ctx context.Context, client *ClientWithResponses, collection CollectionName, options BatchOptions, work func(ctx context.Context, batch *HeldBatch) (map[ItemKey]RecordChange, error)) (Completion, error) {
	batch, err := claimBatch(ctx, client, collection, options)
	if err != nil {
		return Completion{}, err
	}
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		batch.keepClaimed()
	}()
	defer func() { // when work panics, too
		batch.end(errBatchOver)
		<-beating
	}()
	within, cancel := batch.within(ctx)
	defer cancel()
	changes, err := work(within, batch)
	var lost *BatchLostError
	switch over := batch.Err(); {
	case err != nil && errors.As(over, &lost) && !errors.As(err, &lost):
		return Completion{}, errors.Join(over, err)
	case err != nil:
		return Completion{}, err
	case len(changes) == 0:
		return Completion{}, nil
	}
	return batch.complete(ctx, changes)
}

var errBatchOver = errors.New("holdfast: the batch's work is over")

// claimBatch claims, and knows from when the claims last at least.
func claimBatch(ctx context.Context, client *ClientWithResponses, collection CollectionName, options BatchOptions) (*HeldBatch, error) {
	once, err := singly(client, always)
	if err != nil {
		return nil, err
	}
	term := seconds(cmp.Or(options.Term, defaultClaimTerm))
	b := &HeldBatch{
		client:     client,
		once:       once,
		collection: collection,
		id:         cmp.Or(options.BatchID, rand.Text()),
		lease:      options.Lease,
		term:       time.Duration(*term) * time.Second,
		claims:     map[ItemKey]ClaimGeneration{},
	}
	b.margin = min(b.term/marginPart, longestMargin)
	b.ctx, b.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	asked := NewBatch{BatchID: b.id, Owner: options.Owner, Items: options.Items, TermSeconds: term}
	err = untilAnswered(ctx, func(ctx context.Context) error {
		sent := time.Now()
		answer, err := once.ClaimBatchWithResponse(ctx, collection, &ClaimBatchParams{HoldfastLease: optional(b.lease)}, asked)
		switch {
		case err != nil:
			return err
		case answer.JSON200 == nil:
			return errNoJSON
		}
		b.take(answer.JSON200, sent)
		return nil
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("holdfast: claim the batch %s: %w", b.id, err)
	case len(b.claims) == 0:
		return nil, ErrNothingClaimed
	case options.BatchID == "":
		return b, nil
	}
	// Claims that were there already last for nobody knows how long.
	if err := untilAnswered(ctx, b.beat); err != nil {
		return nil, fmt.Errorf("holdfast: keep the claims of the batch %s: %w", b.id, err)
	}
	return b, b.Err()
}

// complete publishes, and ends the batch.
func (b *HeldBatch) complete(ctx context.Context, changes map[ItemKey]RecordChange) (Completion, error) {
	request := NewCompletion{OperationID: rand.Text()}
	named := map[ItemKey]RecordChange{}
	for _, key := range slices.Sorted(maps.Keys(changes)) {
		generation, has := b.claims[key]
		if !has {
			return Completion{}, fmt.Errorf("holdfast: the batch %s doesn't have the item %q", b.id, key)
		}
		change := changes[key].named()
		named[key] = change
		request.Items = append(request.Items, change.claimed(key, generation))
	}
	var completion Completion
	err := untilAnswered(ctx, func(ctx context.Context) error {
		answer, err := b.once.CompleteBatchWithResponse(ctx, b.collection, b.id, &CompleteBatchParams{HoldfastLease: optional(b.lease)}, request)
		switch {
		case err != nil:
			return err
		case answer.JSON200 == nil:
			return errNoJSON
		}
		completion = *answer.JSON200
		return nil
	})
	if err != nil {
		return Completion{}, fmt.Errorf("holdfast: complete the batch %s: %w", b.id, err)
	}
	for _, item := range completion.Items {
		if change := named[item.Key]; item.Receipt != nil {
			err = errors.Join(err, change.confirm(item.Receipt))
		}
	}
	return completion, err
}
