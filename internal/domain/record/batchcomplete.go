package record

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// CompleteBatch ends a batch by publishing what its producer made of the items.
type CompleteBatch struct {
	OperationID string        // of the completion; each publication has one of its own
	Items       []Publication // each with the claim's generation, Claim.BatchID set or not
}

// Completion says what became of a batch's items. It is kept as a receipt is.
type Completion struct {
	OperationID string          `json:"operation_id"`
	BatchID     string          `json:"batch_id"`
	Items       []CompletedItem `json:"items"`
	At          time.Time       `json:"at"`
	Replayed    bool            `json:"-"` // an earlier request did it
}

// CompletedItem is what became of one item: ItemPublished, ItemSuperseded,
// ItemConflict or ItemLeaseExpired.
type CompletedItem struct {
	Key        string    `json:"key"`
	Generation int64     `json:"generation"`
	Outcome    ItemState `json:"outcome"`
	Receipt    *Receipt  `json:"receipt,omitempty"` // where a publication was made, or superseded

	// Of a conflict, what its error says.
	Code    string         `json:"code,omitempty"`
	Detail  string         `json:"detail,omitempty"`
	Fields  []domain.Field `json:"fields,omitempty"`
	Section string         `json:"section,omitempty"`
	Record  *Record        `json:"record,omitempty"` // as it stood, without bodies; nil where there was none
}

// Complete publishes a batch's items and ends the batch, in one transaction. An
// item whose claim is over publishes nothing, and says so, unless its publication
// was made before. Items that are not named are released. Where no claim stands
// any more nothing is done, and the batch may be claimed again.
//
// Errors: invalid, too large, precondition required, not found
// collection_not_found or batch_not_found, conflict batch_exists (for another's
// batch), batch_completed, operation_id_reused, and those of a lease; unavailable,
// with the member key where an item's body can't be stored; outcome unknown (the
// same operation id finds out).
func (s *Service) Complete(ctx context.Context, scope tenancy.Scope, collection string, a *lease.Authority, id string, req CompleteBatch) (completion Completion, err error) {
	ref, err := refOf(collection)
	if err != nil {
		return Completion{}, errNoCollection
	}
	if err := req.check(scope, id, s.limits); err != nil {
		return Completion{}, err
	}
	d := &decision{collection: ref, caller: scope, lease: a, batches: []string{id}, operations: []string{req.OperationID}}
	for i := range req.Items {
		item := req.Items[i].decision(scope, ref, a)
		d.keys = append(d.keys, item.keys...)
		d.operations = append(d.operations, item.operations...)
		d.fences = append(d.fences, item.fences...)
		d.digests = append(d.digests, item.digests...)
	}
	d.decide = func(c *locked) (err error) {
		completion, err = c.complete(scope, id, &req)
		return err
	}
	for range maxAttempts {
		c, err := s.rehearse(ctx, d)
		switch {
		case err != nil:
			return Completion{}, err
		case completion.Replayed:
			return completion, nil
		}
		if err := s.demandRoom(ctx, scope.Tenant, req.grows()); err != nil {
			return Completion{}, err
		}
		if err := s.prepareEach(ctx, scope.Tenant, c, d, completion.Items, req.Items); err != nil {
			return Completion{}, err
		}
		if err = s.decide(ctx, d); !errors.Is(err, errNotStored) {
			if err != nil {
				return Completion{}, err
			}
			s.quotas.Grew(scope.Tenant, domain.BodyBytes, req.grows())
			return completion, nil
		}
	}
	return Completion{}, errBusy
}

// prepareEach prepares the publications that a rehearsal has foreseen to be made.
func (s *Service) prepareEach(ctx context.Context, tenant domain.TenantID, c *locked, d *decision, foreseen []CompletedItem, all []Publication) error {
	prepared := make([]decision, len(all))
	var group errgroup.Group
	group.SetLimit(publishedAtOnce)
	for i := range all {
		receipt := foreseen[i].Receipt
		if receipt == nil || receipt.Replayed {
			continue
		}
		prepared[i].known = d.known
		group.Go(func() error {
			return ofItem(s.prepare(ctx, tenant, c, &prepared[i], receipt.Outcome, &all[i]), all[i].Key)
		})
	}
	err := group.Wait()
	d.bytes = 0
	for i := range prepared {
		d.bytes += prepared[i].bytes
	}
	return err
}

// ofItem names the item whose error it is.
func ofItem(err error, key string) error {
	var e *domain.Error
	if errors.As(err, &e) {
		return e.With("key", key)
	}
	return err
}

// maxCompleted bounds the bodies of a completion, which commit together, in bytes.
const maxCompleted = 8 << 20

func (req *CompleteBatch) check(scope tenancy.Scope, id string, limits Limits) error {
	switch {
	case !validText(id):
		return errNoBatch
	case !validText(req.OperationID):
		return errOperationID
	}
	bytes, fences := 0, map[string]bool{}
	for i := range req.Items {
		p := &req.Items[i]
		if p.Claim == nil || p.OperationID == req.OperationID {
			return errCompletion
		}
		if f := p.Expect.Fence; f != nil {
			if fences[f.Key] {
				return errFenceTwice
			}
			fences[f.Key] = true
		}
		p.Claim.BatchID = id
		bytes += p.size()
	}
	if bytes > maxCompleted {
		return domain.TooLarge("bodies_too_large", "A completion has at most 8 MiB of bodies. Claim fewer items in one batch.").At("/items")
	}
	return checkEach(req.Items, scope, limits)
}

var errCompletion = domain.Invalid("completion_invalid",
	"Each item of a completion names the generation of its claim, and an operation id that is not the completion's.").At("/items")

var errFenceTwice = domain.Invalid("fence_twice", "Two items of a completion have the same fence key.").At("/items")

func (req *CompleteBatch) fingerprint(id string) (sum [32]byte) {
	hash := sha256.New()
	hash.Write([]byte("complete\n" + id + "\n"))
	for i := range req.Items {
		of := req.Items[i].fingerprint()
		hash.Write(of[:])
	}
	hash.Sum(sum[:0])
	return sum
}

func (c *locked) complete(scope tenancy.Scope, id string, req *CompleteBatch) (Completion, error) {
	fingerprint := req.fingerprint(id)
	switch stored, known, err := c.replay(req.OperationID, fingerprint); {
	case err != nil:
		return Completion{}, err
	case known:
		completion := *stored.Completion // of the same fingerprint, and so a completion's
		completion.Replayed = true
		return completion, nil
	}
	b, err := c.openBatch(scope, id)
	if err != nil {
		return Completion{}, err
	}
	if err := c.foresee(req); err != nil {
		return Completion{}, err
	}
	completion := Completion{OperationID: req.OperationID, BatchID: id, At: c.now}
	came := false
	for i := range req.Items {
		item, err := c.completeItem(&req.Items[i])
		if err != nil {
			return Completion{}, below(err, i)
		}
		came = came || item.Outcome != ItemLeaseExpired
		completion.Items = append(completion.Items, item)
	}
	if came {
		c.end(b, completion.Items)
		c.keep(req.OperationID, fingerprint, Stored{Completion: &completion})
	}
	return completion, nil
}

// foresee refuses what would stop a completion half-way: nothing of it may be done
// when it is asked for again.
func (c *locked) foresee(req *CompleteBatch) error {
	if c.rehearsing || c.format != FormatStore {
		return nil
	}
	for i := range req.Items {
		p := &req.Items[i]
		if len(p.Bodies) > 0 && !p.stored && c.wouldApply(p) {
			return errNotStored
		}
	}
	return nil
}

// wouldApply tells whether publish would change the record. The records of a
// completion's items are different ones, so none changes the answer for another.
func (c *locked) wouldApply(p *Publication) bool {
	if _, known := c.receipts[p.OperationID]; known || c.admits(p) != nil {
		return false
	}
	if f := p.Expect.Fence; f != nil {
		if outcome, _, err := c.passes(p, f); err != nil || outcome != Published {
			return false
		}
	}
	_, err := c.wouldLive(p)
	return err == nil
}

func (c *locked) completeItem(p *Publication) (CompletedItem, error) {
	item := CompletedItem{Key: p.Key, Generation: p.Claim.Generation, Outcome: ItemPublished}
	receipt, err := c.publish(p)
	var refusal *domain.Error
	switch {
	case err == nil:
		if item.Receipt = &receipt; receipt.Outcome == Superseded {
			item.Outcome = ItemSuperseded
		}
	case domain.CodeOf(err) == errClaimLost.Code:
		item.Outcome = ItemLeaseExpired
	case errors.As(err, &refusal) && !(c.rehearsing && refusal.Kind == domain.KindInvalid):
		item.Outcome, item.Code, item.Detail, item.Fields = ItemConflict, refusal.Code, refusal.Detail, refusal.Fields
		item.Section, _ = refusal.Members["section"].(string)
		item.Record, _ = refusal.Members["record"].(*Record)
	default:
		return CompletedItem{}, err
	}
	return item, nil
}

// end gives every item of a batch its outcome, and lets go of those it still has.
func (c *locked) end(b *batch, completed []CompletedItem) {
	outcomes := make(map[string]ItemState, len(completed))
	for _, item := range completed {
		outcomes[item.Key] = item.Outcome
	}
	for key, i := range b.items {
		has := c.has(key, Claim{b.id, i.generation})
		switch outcome, named := outcomes[key]; {
		case named:
			i.outcome = outcome
		case has:
			i.outcome = ItemReleased
		default:
			i.outcome = ItemLeaseExpired
		}
		i.changed = true
		if has {
			c.claims[key].removed = true
		}
	}
	b.completedAt, b.touchedAt, b.changed = c.now, c.now, true
}
