package record

import (
	"context"
	"errors"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Publish changes a record by compare-and-swap, under an operation id. The retry
// of an operation that was made gets its receipt again. Everything that gives the
// caller the right to it is looked at again in the transaction that commits it,
// on locked rows: a is the lease of the world that the collection is bound to,
// nil for none.
//
// Errors: invalid, too large bodies_too_large, precondition required, not found
// collection_not_found or record_not_found, precondition failed revision_stale or
// record_exists, conflict digest_mismatch (these three with the member record, if
// there is one), fence_revision_reused, primary_missing, operation_id_reused,
// claim_lost, batch_exists (for a claim of another's batch), and those of a lease;
// unavailable, outcome unknown (the same operation id finds out).
func (s *Service) Publish(ctx context.Context, scope tenancy.Scope, collection string, a *lease.Authority, p Publication) (Receipt, error) {
	ref, err := refOf(collection)
	if err != nil {
		return Receipt{}, errNoCollection
	}
	p.by(scope)
	if err := p.check(s.limits); err != nil {
		return Receipt{}, err
	}
	return s.publish(ctx, scope, ref, a, &p)
}

// Delete tombstones all live sections of a record that is at a revision. With an
// operation id, a retry gets the receipt again.
//
// Errors: as Publish.
func (s *Service) Delete(ctx context.Context, scope tenancy.Scope, collection string, a *lease.Authority, key string, revision int64, operationID string) (Receipt, error) {
	return s.Publish(ctx, scope, collection, a, Publication{
		Key: key, OperationID: operationID, Expect: Expectation{Revision: revision}, everything: true,
	})
}

// Made is what became of one of many publications.
type Made struct {
	Receipt Receipt
	Err     error // of Publish
}

// PublishEach makes publications of different records, each for itself. What is
// invalid by itself refuses all, and nothing is made.
//
// Errors: invalid, too large, precondition required, not found
// collection_not_found.
func (s *Service) PublishEach(ctx context.Context, scope tenancy.Scope, collection string, a *lease.Authority, all []Publication) ([]Made, error) {
	ref, err := refOf(collection)
	if err != nil {
		return nil, errNoCollection
	}
	if err := checkEach(all, scope, s.limits); err != nil {
		return nil, err
	}
	made := make([]Made, len(all))
	var group errgroup.Group
	group.SetLimit(publishedAtOnce)
	for i := range all {
		group.Go(func() error {
			made[i].Receipt, made[i].Err = s.publish(ctx, scope, ref, a, &all[i])
			return nil
		})
	}
	_ = group.Wait() // each has its own error
	if !slices.ContainsFunc(made, func(m Made) bool { return !errors.Is(m.Err, errNoCollection) }) {
		return nil, errNoCollection
	}
	return made, nil
}

// publishedAtOnce is how many publications of one request are under way at once.
const publishedAtOnce = 16

func (s *Service) publish(ctx context.Context, scope tenancy.Scope, ref ref, a *lease.Authority, p *Publication) (receipt Receipt, err error) {
	d := p.decision(scope, ref, a)
	d.decide = func(c *locked) (err error) {
		receipt, err = c.publish(p)
		return err
	}
	for range maxAttempts {
		c, err := s.rehearse(ctx, d)
		switch {
		case err != nil:
			return Receipt{}, err
		case receipt.Replayed:
			return receipt, nil
		}
		if err := s.demandRoom(ctx, scope.Tenant, p.grows); err != nil {
			return Receipt{}, err
		}
		if err := s.prepare(ctx, scope.Tenant, c, d, receipt.Outcome, p); err != nil {
			return Receipt{}, err
		}
		if err = s.decide(ctx, d); !errors.Is(err, errNotStored) {
			if err != nil {
				return Receipt{}, err
			}
			s.quotas.Grew(scope.Tenant, domain.BodyBytes, p.grows)
			return receipt, nil
		}
	}
	return Receipt{}, errBusy
}

// decision is what a publication looks at.
func (p *Publication) decision(scope tenancy.Scope, ref ref, a *lease.Authority) *decision {
	d := &decision{collection: ref, caller: scope, lease: a, keys: []string{p.Key}}
	if p.OperationID != "" {
		d.operations = []string{p.OperationID}
	}
	if p.Expect.Fence != nil {
		d.fences = []string{p.Expect.Fence.Key}
	}
	if p.Claim != nil {
		d.batches = []string{p.Claim.BatchID}
	}
	d.digests = slices.Collect(maps.Values(p.digests))
	return d
}

func checkEach(all []Publication, scope tenancy.Scope, limits Limits) error {
	switch n := len(all); {
	case n == 0:
		return domain.Invalid("items_missing", "A request publishes at least one record.").At("/items")
	case n > MaxPublications:
		return domain.Invalid("too_many_items", "A request publishes at most 100 records.").At("/items")
	}
	keys, operations := make(map[string]bool, len(all)), make(map[string]bool, len(all))
	for i := range all {
		p := &all[i]
		p.by(scope)
		err := p.check(limits)
		switch {
		case err != nil:
		case keys[p.Key]:
			err = domain.Invalid("item_key_twice", "A request names each record once.").At("/key")
		case operations[p.OperationID]:
			err = domain.Invalid("operation_id_twice", "Each publication of a request has an operation id of its own.").At("/operation_id")
		}
		if err != nil {
			return below(err, i)
		}
		keys[p.Key], operations[p.OperationID] = true, true
	}
	return nil
}
