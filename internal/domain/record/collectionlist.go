package record

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// CollectionPage is a stretch of a tenant's collections.
type CollectionPage struct {
	Collections []Collection
	More        bool
}

var errAfterCollection = domain.Invalid("cursor_invalid", "A list goes on behind a collection that a page of it ended with.").At("?cursor")

const sqlListCollections = `
SELECT ` + collectionColumns + `
  FROM collections c
 WHERE c.tenant_id = $1 AND (c.number, c.collection) > ($2, $3) AND c.number = ANY ($4)
 ORDER BY c.tenant_id, c.number, c.collection LIMIT $5`

// Collections gives up to limit collections behind one, "" for the first ones, in
// an order that stays: every collection that exists throughout is given once,
// whatever is made meanwhile.
//
// Errors: invalid cursor_invalid, unavailable.
func (s *Service) Collections(ctx context.Context, scope tenancy.Scope, after string, limit int) (CollectionPage, error) {
	from := int16(-1)
	if after != "" {
		if !collectionName.MatchString(after) {
			return CollectionPage{}, errAfterCollection
		}
		from = int16(numberOf(after))
	}
	pages := make([][]*collection, len(s.router.Databases()))
	var group errgroup.Group
	for i, db := range s.router.Databases() {
		numbers := make([]int16, len(db.Numbers))
		for k, n := range db.Numbers {
			numbers[k] = int16(n)
		}
		e := s.entry(scope.Tenant, db.Numbers...)
		e.ReadOnly = true
		group.Go(func() error {
			return tenancy.Run(ctx, db, e, func(ctx context.Context, tx *tenancy.Tx) error {
				tx.Queue(sqlListCollections, from, after, numbers, limit+1).Query(func(rows pgx.Rows) (err error) {
					pages[i], err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (*collection, error) {
						c := &collection{}
						return c, scanCollection(row, c)
					})
					return err
				})
				return nil
			})
		})
	}
	if err := group.Wait(); err != nil {
		return CollectionPage{}, err
	}
	all := slices.SortedFunc(slices.Values(slices.Concat(pages...)), func(a, b *collection) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.name, b.name))
	})
	page := CollectionPage{More: len(all) > limit}
	for _, c := range all[:min(len(all), limit)] {
		page.Collections = append(page.Collections, c.shown())
	}
	return page, nil
}
