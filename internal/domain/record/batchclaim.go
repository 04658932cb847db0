package record

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// ClaimBatch asks for items to work on.
type ClaimBatch struct {
	ID    string        // the caller's own
	Owner string        // who works on it, in the caller's own words
	Items []string      // keys, of records that exist or don't
	Term  time.Duration // of the claims; DefaultBatchTerm if 0
}

func (req *ClaimBatch) check() error {
	if req.Term == 0 {
		req.Term = DefaultBatchTerm
	}
	switch {
	case !validText(req.ID):
		return errBatchID.At("/batch_id")
	case !validText(req.Owner):
		return errBatchOwner
	case req.Term < MinBatchTerm || req.Term > MaxBatchTerm:
		return errBatchTerm
	}
	req.Items = slices.Compact(slices.Sorted(slices.Values(req.Items)))
	if n := len(req.Items); n == 0 || n > MaxBatchItems {
		return errBatchItems
	}
	for _, key := range req.Items {
		if !validKey(key) {
			return errKey.At("/items")
		}
	}
	return nil
}

// Claim claims items for a batch, each with a generation that is higher than all
// before it in the collection. An item that another batch has stays with it. Who
// claims again under the same id, as the same owner, keeps what it has, and gets
// again what it has lost and nobody else has.
//
// Errors: invalid, not found collection_not_found, conflict batch_exists or
// batch_completed, and those of a lease; unavailable, outcome unknown (claim
// again).
func (s *Service) Claim(ctx context.Context, scope tenancy.Scope, collection string, a *lease.Authority, req ClaimBatch) (Batch, error) {
	if err := req.check(); err != nil {
		return Batch{}, err
	}
	var claimed Batch
	err := s.decideBatch(ctx, scope, collection, a, req.ID, req.Items, func(c *locked) (err error) {
		claimed, err = c.claim(scope, &req)
		return err
	})
	return claimed, err
}

// decideBatch makes a decision on a batch and items.
func (s *Service) decideBatch(ctx context.Context, scope tenancy.Scope, collection string, a *lease.Authority, batch string, keys []string, decide func(c *locked) error) error {
	ref, err := refOf(collection)
	if err != nil {
		return errNoCollection
	}
	d := &decision{collection: ref, caller: scope, lease: a, keys: keys, batches: []string{batch}, decide: decide}
	if _, err := s.rehearse(ctx, d); err != nil {
		return err
	}
	return s.decide(ctx, d)
}

func (c *locked) claim(scope tenancy.Scope, req *ClaimBatch) (Batch, error) {
	b := c.batches[req.ID]
	switch {
	case b == nil:
		b = &batch{id: req.ID, owner: req.Owner, principal: scope.Principal, createdAt: c.now, items: map[string]*batchItem{}}
	case b.owner != req.Owner || b.principal != scope.Principal:
		return Batch{}, errBatchTaken
	case !b.completedAt.IsZero():
		return Batch{}, errBatchDone
	}
	added := slices.DeleteFunc(slices.Clone(req.Items), func(key string) bool { return b.items[key] != nil })
	if len(b.items)+len(added) > MaxBatchItems {
		return Batch{}, errBatchItems
	}
	generation := c.claimGeneration + 1
	var held []BatchItem
	for _, key := range req.Items {
		if i := b.items[key]; i != nil && c.has(key, Claim{b.id, i.generation}) {
			continue
		}
		if stands := c.claims[key]; stands != nil && !stands.removed && stands.batch != b.id && c.now.Before(stands.expiresAt) {
			if b.items[key] == nil {
				held = append(held, BatchItem{Key: key, State: ItemHeld, ExpiresAt: stands.expiresAt})
			}
			continue
		}
		c.claimGeneration, b.generation = generation, generation
		expires := c.now.Add(req.Term)
		c.claims[key] = &itemClaim{batch: b.id, generation: generation, expiresAt: expires, changed: true}
		b.items[key] = &batchItem{generation: generation, expiresAt: expires, changed: true}
	}
	if b.generation == generation {
		b.termSeconds, b.touchedAt, b.changed = int32(req.Term/time.Second), c.now, true
		c.batches[b.id] = b
	}
	shown := c.shownBatch(b)
	shown.Items = append(shown.Items, held...)
	slices.SortFunc(shown.Items, func(a, b BatchItem) int { return strings.Compare(a.Key, b.Key) })
	return shown, nil
}
