package migration

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// pageOfCollections is how many are listed at once.
const pageOfCollections = 500

// covered are the collections that a migration is about, as they are now: those
// that it names, or all of the tenant's. They come by number and name.
func (s *Service) covered(ctx context.Context, m *Migration) (all []record.Collection, err error) {
	scope := tenancy.Scope{Tenant: m.Tenant}
	for after, more := "", true; more; {
		page, err := s.records.Collections(ctx, scope, after, pageOfCollections)
		if err != nil {
			return nil, err
		}
		for _, c := range page.Collections {
			after = c.Name
			if m.covers(c.Name) {
				all = append(all, c)
			}
		}
		more = page.More
	}
	return all, nil
}

// covers tells whether a collection is one of those that the migration is about.
func (m *Migration) covers(name string) bool {
	if m.Collections == nil {
		return true
	}
	_, named := slices.BinarySearch(m.Collections, name)
	return named
}

// overlaps tells whether two migrations of a tenant have a collection in common,
// or may come to have one.
func (m *Migration) overlaps(other *Migration) bool {
	return m.Collections == nil || other.Collections == nil || slices.ContainsFunc(m.Collections, other.covers)
}
