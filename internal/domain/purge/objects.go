package purge

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// prefix is what the keys of all of a tenant's objects begin with.
func prefix(tenant domain.TenantID) string { return fmt.Sprintf("tenants/%s/", tenant) }

// purgeObjects deletes the first page of the objects that are left. They are counted
// first, each by its key once: a crash behind the count leaves them to the next step,
// which begins at the first again and counts only what lies behind.
func (s *Service) purgeObjects(ctx context.Context, p *purge) error {
	if s.objects == nil {
		return domain.Conflict("object_store_missing", "The tenant's objects are to be deleted, and this process has no object store.")
	}
	page, _, err := s.objects.List(ctx, prefix(p.tenant), "", pageObjects)
	if err != nil {
		return err
	}
	if len(page) == 0 {
		return s.noObjects(ctx, p)
	}
	keys := make([]string, len(page))
	for i, o := range page {
		keys[i] = o.Key
		if o.Key > p.afterObject {
			p.objects, p.objectBytes, p.afterObject = p.objects+1, p.objectBytes+o.Size, o.Key
		}
	}
	if err := s.save(ctx, p); err != nil {
		return err
	}
	return s.objects.Delete(ctx, keys...)
}

// noObjects goes on behind a listing that was empty. What comes later is counted from
// the first key again.
func (s *Service) noObjects(ctx context.Context, p *purge) error {
	p.step, p.afterObject = s.next(p.step), ""
	if p.step == stepWait {
		p.settledAt = s.now().Add(s.settle)
	}
	return s.save(ctx, p)
}

// wait goes on when nothing that was under way can arrive any more.
func (s *Service) wait(ctx context.Context, p *purge) (more bool, err error) {
	if s.now().Before(p.settledAt) {
		return false, nil
	}
	p.step = s.next(p.step)
	return true, s.save(ctx, p)
}
