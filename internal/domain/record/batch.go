package record

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Bounds of what a batch may ask for, and what it gets if it doesn't ask.
const (
	MaxBatchItems    = 100 // of a batch
	DefaultBatchTerm = time.Minute
	MinBatchTerm     = 5 * time.Second
	MaxBatchTerm     = time.Hour
)

// ItemState is what a batch has of an item, or what became of it.
type ItemState string

const (
	ItemLeased       ItemState = "leased"        // the batch has it until its claim expires
	ItemHeld         ItemState = "held"          // another batch has it
	ItemLeaseExpired ItemState = "lease_expired" // the claim was over, or lost to another batch
	ItemPublished    ItemState = "published"
	ItemSuperseded   ItemState = "superseded"
	ItemConflict     ItemState = "conflict" // the record wasn't as expected
	ItemReleased     ItemState = "released" // the batch was completed without it
)

// Batch is items that a producer has claimed to work on.
type Batch struct {
	ID          string
	Owner       string
	Completed   bool
	CreatedAt   time.Time
	CompletedAt time.Time // zero for one that isn't
	Items       []BatchItem
}

// BatchItem is an item of a batch.
type BatchItem struct {
	Key        string
	State      ItemState
	Generation int64     // of the batch's claim; 0 for one that another batch holds
	ExpiresAt  time.Time // of the claim that stands, be it another batch's
}

var (
	errBatchID    = domain.Invalid("batch_id_invalid", "A batch id has 1 to 200 printable ASCII characters.")
	errBatchOwner = domain.Invalid("batch_owner_invalid", "A batch's owner has 1 to 200 printable ASCII characters.").At("/owner")
	errBatchTerm  = domain.Invalid("term_invalid", "A claim lasts from 5 seconds to an hour.").At("/term_seconds")
	errBatchItems = domain.Invalid("batch_items_invalid", "A batch names 1 to 100 different items.").At("/items")
	errNoBatch    = domain.NotFound("batch_not_found", "There is no batch of this id.")
	errBatchTaken = domain.Conflict("batch_exists", "There is a batch of this id that has another owner. Choose another id.")
	errBatchDone  = domain.Conflict("batch_completed", "The batch is completed. Claim further items under another id.")
	errClaimLost  = domain.Conflict("claim_lost",
		"The batch doesn't have the item under this generation any more: its claim has expired, or another batch has the item.")
)

// batch is a batch's row and its items.
type batch struct {
	id                                string
	owner                             string
	principal                         domain.PrincipalID
	generation                        int64
	termSeconds                       int32
	createdAt, touchedAt, completedAt time.Time
	items                             map[string]*batchItem
	changed                           bool
}

// batchItem is an item of a batch. outcome is "" while it is unfinished.
type batchItem struct {
	generation int64
	expiresAt  time.Time
	outcome    ItemState
	changed    bool
}

// itemClaim is the one claim of an item that stands, or stood last.
type itemClaim struct {
	batch            string
	generation       int64
	expiresAt        time.Time
	changed, removed bool
}

// sqlReadBatches: the OFFSET keeps the planner from joining the items in another
// order than by their batches.
const sqlReadBatches = `
SELECT p.ordinal, b.batch_id, b.owner, b.principal_id, b.generation, b.term_seconds, b.created_at, b.touched_at, b.completed_at,
       i.item_key, i.generation, i.expires_at, i.outcome, h.batch_id, h.generation, h.expires_at` + ofNames + `
 CROSS JOIN LATERAL (SELECT b.* FROM batches b
                      WHERE b.tenant_id = $1 AND b.number = p.number AND b.collection_id = c.collection_id
                        AND b.batch_id = p.name LIMIT 1) b
 CROSS JOIN LATERAL (SELECT i.* FROM batch_items i
                      WHERE i.tenant_id = $1 AND i.number = p.number AND i.collection_id = c.collection_id
                        AND i.batch_id = p.name OFFSET 0) i
  LEFT JOIN LATERAL (SELECT h.* FROM item_claims h
                      WHERE h.tenant_id = $1 AND h.number = p.number AND h.collection_id = c.collection_id
                        AND h.item_key = i.item_key LIMIT 1) h ON true`

// scanBatch reads one item, the batch around it, and who has claimed it.
func scanBatch(row pgx.CollectableRow, of func(int64) (*locked, string)) error {
	var ordinal int64
	b, i := &batch{items: map[string]*batchItem{}}, &batchItem{}
	var key string
	var outcome, claimedBy *string
	var claimGeneration *int64
	var completedAt, claimExpiresAt *time.Time
	err := row.Scan(&ordinal, &b.id, &b.owner, &b.principal, &b.generation, &b.termSeconds, &b.createdAt, &b.touchedAt, &completedAt,
		&key, &i.generation, &i.expiresAt, &outcome, &claimedBy, &claimGeneration, &claimExpiresAt)
	if err != nil {
		return err
	}
	c, id := of(ordinal)
	if c.batches[id] == nil {
		if completedAt != nil {
			b.completedAt = completedAt.UTC()
		}
		b.createdAt, b.touchedAt = b.createdAt.UTC(), b.touchedAt.UTC()
		c.batches[id] = b
	}
	if outcome != nil {
		i.outcome = ItemState(*outcome)
	}
	i.expiresAt = i.expiresAt.UTC()
	c.batches[id].items[key] = i
	if claimedBy != nil {
		c.claims[key] = &itemClaim{batch: *claimedBy, generation: *claimGeneration, expiresAt: claimExpiresAt.UTC()}
	}
	return nil
}

// has tells whether a batch's claim of an item stands: it is the item's last one,
// and its time isn't over.
func (c *locked) has(key string, claim Claim) bool {
	return c.isLast(key, claim) && c.now.Before(c.claims[key].expiresAt)
}

// isLast tells whether no claim of an item was made behind a batch's.
func (c *locked) isLast(key string, claim Claim) bool {
	stands := c.claims[key]
	return stands != nil && !stands.removed && stands.batch == claim.BatchID && stands.generation == claim.Generation
}

// demandClaim holds a publication to its claim, which is its principal's. Who only
// rehearses can't say that a claim's time is over: a heartbeat may have been
// committed since the look.
func (c *locked) demandClaim(p *Publication) error {
	b := c.batches[p.Claim.BatchID]
	switch {
	case b != nil && b.principal != p.principal:
		return errBatchTaken
	case b == nil, !c.isLast(p.Key, *p.Claim), !c.rehearsing && !c.has(p.Key, *p.Claim):
		return errClaimLost
	}
	return nil
}

func (c *locked) shownBatch(b *batch) Batch {
	shown := Batch{ID: b.id, Owner: b.owner, Completed: !b.completedAt.IsZero(), CreatedAt: b.createdAt, CompletedAt: b.completedAt}
	for key, i := range b.items {
		item := BatchItem{Key: key, State: i.outcome, Generation: i.generation, ExpiresAt: i.expiresAt}
		switch {
		case item.State != "":
		case c.has(key, Claim{b.id, i.generation}):
			item.State = ItemLeased
		default:
			item.State = ItemLeaseExpired
		}
		shown.Items = append(shown.Items, item)
	}
	slices.SortFunc(shown.Items, func(a, b BatchItem) int { return strings.Compare(a.Key, b.Key) })
	return shown
}

// Batch gives a batch, of any owner.
//
// Errors: not found collection_not_found, batch_not_found; unavailable.
func (s *Service) Batch(ctx context.Context, scope tenancy.Scope, collection, id string) (Batch, error) {
	if !validText(id) {
		return Batch{}, errNoBatch
	}
	c, err := s.lookAt(ctx, scope, collection, decision{batches: []string{id}})
	switch {
	case err != nil:
		return Batch{}, err
	case c.batches[id] == nil:
		return Batch{}, errNoBatch
	}
	return c.shownBatch(c.batches[id]), nil
}
