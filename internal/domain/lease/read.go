package lease

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// EntryPage is a stretch of a journal.
type EntryPage struct {
	Entries  []journal.Entry
	Position int64 // of the journal's last entry
	More     bool
}

// sqlReadEntries ends a page behind the entry with which its payloads outgrow the
// bound, so that it has at least one.
const sqlReadEntries = `
SELECT ` + entryColumns + `
  FROM (SELECT j.*, sum(octet_length(j.payload)) OVER (ORDER BY j.position) - octet_length(j.payload) AS before
          FROM (SELECT j.* FROM journal j
                 WHERE j.tenant_id = $1 AND j.number = $2 AND j.world_id = $3 AND j.position > $4
                 ORDER BY j.position LIMIT $5) j) j
 WHERE j.before < $6
 ORDER BY j.position`

// Entries gives up to limit entries behind a position, fewer if their payloads are
// large.
//
// Errors: not found, unavailable.
func (s *Service) Entries(ctx context.Context, scope tenancy.Scope, world string, after int64, limit int) (EntryPage, error) {
	ref, err := refOf(world)
	if err != nil {
		return EntryPage{}, errNoWorld
	}
	return s.readEntries(ctx, scope.Tenant, ref, after, limit, MaxPayload)
}

// readEntries is Entries with the size of the payloads beyond which a page gets no
// further entry.
func (s *Service) readEntries(ctx context.Context, tenant domain.TenantID, ref worldRef, after int64, limit, bytes int) (EntryPage, error) {
	var found *head
	var page EntryPage
	e := s.entry(tenant, ref.number)
	e.ReadOnly = true
	err := tenancy.Run(ctx, s.router.Database(ref.number), e, func(ctx context.Context, tx *tenancy.Tx) error {
		found, page = nil, EntryPage{}
		queueReadHead(tx, ref, &found)
		tx.Queue(sqlReadEntries, int16(ref.number), ref.id, after, limit, bytes).Query(func(rows pgx.Rows) (err error) {
			page.Entries, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (journal.Entry, error) { return scanEntry(row) })
			return err
		})
		return nil
	})
	switch {
	case err != nil:
		return EntryPage{}, err
	case found == nil || found.Retired:
		return EntryPage{}, errNoWorld
	}
	page.Position = found.Position
	if n := len(page.Entries); n > 0 {
		last := page.Entries[n-1].Position
		page.Position = max(page.Position, last) // entries are read behind the head
		page.More = last < page.Position
	}
	return page, nil
}

// WorldPage is a stretch of a tenant's worlds.
type WorldPage struct {
	Worlds []World
	More   bool
}

const sqlListWorlds = `
SELECT w.number, w.world_id, ` + headColumns + `
  FROM worlds w
 WHERE w.tenant_id = $1 AND (w.number, w.world_id) > ($2, $3) AND w.number = ANY ($4) AND NOT w.retired
 ORDER BY w.tenant_id, w.number, w.world_id LIMIT $5`

// Worlds gives up to limit worlds behind one, in an order that stays: every world
// that exists throughout is given once, whatever is made meanwhile.
//
// Errors: unavailable.
func (s *Service) Worlds(ctx context.Context, scope tenancy.Scope, after string, limit int) (WorldPage, error) {
	from := int16(-1)
	if after != "" {
		from = int16(domain.NumberOf(after))
	}
	pages := make([][]*head, len(s.router.Databases()))
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
				tx.Queue(sqlListWorlds, from, after, numbers, limit+1).Query(func(rows pgx.Rows) (err error) {
					pages[i], err = pgx.CollectRows(rows, scanListed)
					return err
				})
				return nil
			})
		})
	}
	if err := group.Wait(); err != nil {
		return WorldPage{}, err
	}
	all := slices.SortedFunc(slices.Values(slices.Concat(pages...)), func(a, b *head) int {
		return cmp.Or(cmp.Compare(a.ref.number, b.ref.number), cmp.Compare(a.ref.id, b.ref.id))
	})
	page := WorldPage{More: len(all) > limit}
	for _, h := range all[:min(len(all), limit)] {
		page.Worlds = append(page.Worlds, h.shown())
	}
	return page, nil
}

func scanListed(row pgx.CollectableRow) (*head, error) {
	h := &head{}
	var number int16
	err := scanHead(row, h, &number, &h.ref.id)
	h.ref.number = domain.Number(number)
	return h, err
}
