package record

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

var (
	errLifecycle = domain.Conflict("lifecycle_overlaps",
		"A lifecycle rule of the bucket can delete bodies. Disable it, or keep it away from keys that begin with tenants/.")
	errLifecycleUnreadable = domain.Unavailable("lifecycle_unreadable",
		"The bucket's lifecycle rules can't be read, so nobody knows whether they delete bodies. Try again, or let this installation's key read them.")
)

// CheckStore tells whether bodies may be kept in the object store: there is one,
// and no live lifecycle rule of its bucket can delete any tenant's bodies.
//
// Errors: conflict object_store_missing, lifecycle_overlaps (with the member rule);
// unavailable lifecycle_unreadable.
func (s *Service) CheckStore(ctx context.Context) error {
	_, err := s.StoreRules(ctx)
	return err
}

// StoreRules are the live rules of the bucket, behind CheckStore. With
// lifecycle_overlaps it gives them too.
//
// Errors: those of CheckStore.
func (s *Service) StoreRules(ctx context.Context) ([]domain.LifecycleRule, error) {
	if s.store == nil {
		return nil, errStoreMissing
	}
	rules, err := s.store.Lifecycle(ctx)
	if err != nil {
		return nil, errLifecycleUnreadable.Because(err)
	}
	for _, rule := range rules {
		if rule.Endangers(allBodies) {
			return rules, errLifecycle.With("rule", rule.ID)
		}
	}
	return rules, nil
}
