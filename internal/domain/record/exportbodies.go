package record

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// exportedAtOnce is how many bodies of a page are read at once.
const exportedAtOnce = 8

// exportBodies gets the bodies of a page that are in the store, and verifies those
// that came with it. An object stays what it is, so a section that changes
// meanwhile has the body that its place in the feed is for.
func (s *Service) exportBodies(ctx context.Context, scope tenancy.Scope, of Collection, page *ExportPage, mark bool) error {
	var group errgroup.Group
	group.SetLimit(exportedAtOnce)
	for i := range page.Records {
		if e := &page.Records[i]; e.Live {
			group.Go(func() error { return s.exportBody(ctx, scope.Tenant, of.ID, e, mark) })
		}
	}
	return group.Wait()
}

func (s *Service) exportBody(ctx context.Context, tenant domain.TenantID, collection domain.CollectionID, e *Exported, mark bool) (err error) {
	if e.place.format == FormatStore {
		e.Body, err = s.fetch(ctx, tenant, collection, &e.Section)
	} else {
		err = s.verify(ctx, collection, &e.Section, e.whole)
	}
	if domain.CodeOf(err) != errBodyUnavailable.Code {
		return err
	}
	e.Body = nil
	if e.Unavailable = mark; mark {
		return nil
	}
	return errBodyUnavailable.With("key", e.Key).With("section", e.Name).Because(err)
}
