package record

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// ClaimedItem names an item of a batch by the generation of its claim.
type ClaimedItem struct {
	Key        string
	Generation int64
}

// Heartbeat lets the claims of a batch's items last for term from now, or for as
// long as they do if that is longer. Items whose claim is over, or was lost to
// another batch, stay lost, and say so. A term of 0 is that of the batch.
//
// Errors: invalid, not found collection_not_found or batch_not_found, conflict
// batch_exists (for another's batch), batch_completed, and those of a lease;
// unavailable, outcome unknown (ask again).
func (s *Service) Heartbeat(ctx context.Context, scope tenancy.Scope, collection string, a *lease.Authority, id string, items []ClaimedItem, term time.Duration) ([]BatchItem, error) {
	if !validText(id) {
		return nil, errNoBatch
	}
	if term != 0 && (term < MinBatchTerm || term > MaxBatchTerm) {
		return nil, errBatchTerm
	}
	keys, err := keysOf(items)
	if err != nil {
		return nil, err
	}
	var beaten []BatchItem
	err = s.decideBatch(ctx, scope, collection, a, id, keys, func(c *locked) error {
		b, err := c.openBatch(scope, id)
		if err != nil {
			return err
		}
		beaten = c.heartbeat(b, items, term)
		return nil
	})
	return beaten, err
}

func keysOf(items []ClaimedItem) (keys []string, err error) {
	if n := len(items); n == 0 || n > MaxBatchItems {
		return nil, errBatchItems
	}
	seen := make(map[string]bool, len(items))
	for _, item := range items {
		switch {
		case !validKey(item.Key):
			return nil, errKey.At("/items")
		case seen[item.Key]:
			return nil, errBatchItems
		}
		seen[item.Key] = true
		keys = append(keys, item.Key)
	}
	return keys, nil
}

// openBatch is the caller's batch, unfinished.
func (c *locked) openBatch(scope tenancy.Scope, id string) (*batch, error) {
	b := c.batches[id]
	switch {
	case b == nil:
		return nil, errNoBatch
	case b.principal != scope.Principal:
		return nil, errBatchTaken
	case !b.completedAt.IsZero():
		return nil, errBatchDone
	}
	return b, nil
}

func (c *locked) heartbeat(b *batch, items []ClaimedItem, term time.Duration) (beaten []BatchItem) {
	if term == 0 {
		term = time.Duration(b.termSeconds) * time.Second
	}
	for _, item := range items {
		shown := BatchItem{Key: item.Key, State: ItemLeaseExpired, Generation: item.Generation}
		if i := b.items[item.Key]; i != nil && c.has(item.Key, Claim{b.id, item.Generation}) {
			claim := c.claims[item.Key]
			claim.expiresAt = later(claim.expiresAt, c.now.Add(term)) // never sooner
			i.expiresAt = claim.expiresAt
			claim.changed, i.changed, b.changed = true, true, true
			shown.State, shown.ExpiresAt = ItemLeased, claim.expiresAt
		}
		beaten = append(beaten, shown)
	}
	b.touchedAt = later(b.touchedAt, c.now)
	return beaten
}
