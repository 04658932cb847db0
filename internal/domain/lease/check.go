package lease

import (
	"context"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Census counts what a check has looked at.
type Census struct {
	Worlds      int64 `json:"worlds"` // the retired ones too
	Retired     int64 `json:"retired"`
	Entries     int64 `json:"entries"`
	Rejections  int64 `json:"rejections"` // appends that were rejected, as journaled
	Counted     int64 `json:"counted"`    // likewise, not journaled yet
	Checkpoints int64 `json:"checkpoints"`
	Violations  int64 `json:"violations"`
}

func (c *Census) add(o Census) {
	c.Worlds += o.Worlds
	c.Retired += o.Retired
	c.Entries += o.Entries
	c.Rejections += o.Rejections
	c.Counted += o.Counted
	c.Checkpoints += o.Checkpoints
	c.Violations += o.Violations
}

// Check replays every journal of a tenant, holds the heads, what stands beside them
// and the kept checkpoints against what that gives, and tells each violation that it
// finds. found is never called twice at once. keys are the published ones that sign
// checkpoints.
//
// It reads only, a bounded page at a time, each in a transaction of its own, and
// also of a tenant that is suspended. Traffic may go on: entries up to a head's
// position never change, and what takes two readings is read in an order in which no
// honest state looks wrong.
//
// Errors: found's; forbidden for a tenant that is closed; unavailable.
func (s *Service) Check(ctx context.Context, tenant domain.TenantID, keys journal.Keys, found func(Violation) error) (Census, error) {
	i := &inspection{s: s, tenant: tenant, keys: keys, found: found}
	group, ctx := errgroup.WithContext(ctx)
	for _, db := range s.router.Databases() {
		if len(db.Numbers) > 0 {
			group.Go(func() error { return i.database(ctx, db) })
		}
	}
	err := group.Wait()
	return i.census, err
}

// inspection is one look at all of a tenant.
type inspection struct {
	s      *Service
	tenant domain.TenantID
	keys   journal.Keys

	mu     sync.Mutex
	found  func(Violation) error
	census Census
}

// tell counts and passes on a violation.
func (i *inspection) tell(v Violation) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.census.Violations++
	return i.found(v)
}

func (i *inspection) count(c Census) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.census.add(c)
}

// read makes a transaction that looks.
func (i *inspection) read(ctx context.Context, db *postgres.Database, queue func(tx *tenancy.Tx)) error {
	e := tenancy.Entry{Tenant: i.tenant, Numbers: db.Numbers, Purpose: tenancy.Export, ReadOnly: true}
	return tenancy.Run(ctx, db, e, func(_ context.Context, tx *tenancy.Tx) error {
		queue(tx)
		return nil
	})
}

// checkPage is how many worlds, and entries, are read at once: it bounds a check's
// memory, with MaxPayload of the entries' payloads.
const checkPage = 500

// sqlCheckPlaces walks the worlds of which a database has any row, whatever table it
// stands in. Those of journals and their entry ids skip from world to world.
const sqlCheckPlaces = `
SELECT p.number, p.world_id, EXISTS (SELECT FROM worlds w WHERE w.tenant_id = $1 AND w.number = p.number AND w.world_id = p.world_id)
  FROM ((SELECT w.number, w.world_id FROM worlds w
          WHERE w.tenant_id = $1 AND (w.number, w.world_id) > ($2, $3) ORDER BY w.tenant_id, w.number, w.world_id LIMIT $4)
        UNION
        (WITH RECURSIVE step AS (
            (SELECT j.number, j.world_id FROM journal j
              WHERE j.tenant_id = $1 AND (j.number, j.world_id) > ($2, $3) ORDER BY j.tenant_id, j.number, j.world_id LIMIT 1)
            UNION ALL
            SELECT n.number, n.world_id FROM step s CROSS JOIN LATERAL (
                SELECT j.number, j.world_id FROM journal j
                 WHERE j.tenant_id = $1 AND (j.number, j.world_id) > (s.number, s.world_id) ORDER BY j.tenant_id, j.number, j.world_id LIMIT 1) n)
         SELECT s.number, s.world_id FROM step s LIMIT $4)
        UNION
        (WITH RECURSIVE step AS (
            (SELECT i.number, i.world_id FROM entry_ids i
              WHERE i.tenant_id = $1 AND (i.number, i.world_id) > ($2, $3) ORDER BY i.tenant_id, i.number, i.world_id LIMIT 1)
            UNION ALL
            SELECT n.number, n.world_id FROM step s CROSS JOIN LATERAL (
                SELECT i.number, i.world_id FROM entry_ids i
                 WHERE i.tenant_id = $1 AND (i.number, i.world_id) > (s.number, s.world_id) ORDER BY i.tenant_id, i.number, i.world_id LIMIT 1) n)
         SELECT s.number, s.world_id FROM step s LIMIT $4)
        UNION
        (SELECT DISTINCT e.number, e.world_id FROM lease_epochs e
          WHERE e.tenant_id = $1 AND (e.number, e.world_id) > ($2, $3) ORDER BY e.number, e.world_id LIMIT $4)
        UNION
        (SELECT DISTINCT r.number, r.world_id FROM append_rejections r
          WHERE r.tenant_id = $1 AND (r.number, r.world_id) > ($2, $3) ORDER BY r.number, r.world_id LIMIT $4)
        UNION
        (SELECT DISTINCT l.number, l.world_id FROM lease_waiters l
          WHERE l.tenant_id = $1 AND (l.number, l.world_id) > ($2, $3) ORDER BY l.number, l.world_id LIMIT $4)
        UNION
        (SELECT DISTINCT c.number, c.world_id FROM checkpoints c
          WHERE c.tenant_id = $1 AND (c.number, c.world_id) > ($2, $3) ORDER BY c.number, c.world_id LIMIT $4)) p
 ORDER BY p.number, p.world_id LIMIT $4`

// place is where rows of a world stand.
type place struct {
	number int16
	world  string
	head   bool // there is one
}

// database looks at everything on one database, world by world.
func (i *inspection) database(ctx context.Context, db *postgres.Database) error {
	last := place{number: -1}
	for {
		var page []place
		err := i.read(ctx, db, func(tx *tenancy.Tx) {
			tx.Queue(sqlCheckPlaces, last.number, last.world, checkPage).Query(func(rows pgx.Rows) (err error) {
				page, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p place, err error) {
					err = row.Scan(&p.number, &p.world, &p.head)
					return p, err
				})
				return err
			})
		})
		if err != nil {
			return err
		}
		for _, last = range page {
			if err := i.place(ctx, db, last); err != nil {
				return err
			}
		}
		if len(page) < checkPage {
			return nil
		}
	}
}

// place looks at the rows of a world that stand in one number.
func (i *inspection) place(ctx context.Context, db *postgres.Database, p place) error {
	v := Violation{Database: db.Name, Number: domain.Number(p.number), World: p.world}
	switch {
	case domain.NumberOf(p.world) != v.Number:
		return i.tell(v.of(WrongBucket, "Rows of the world stand in a number that its id doesn't have, where nobody looks for them. "+
			"Nothing of Holdfast writes them there: find out what did, and remove them."))
	case !slices.Contains(db.Numbers, v.Number):
		return i.tell(v.of(WrongDatabase, "Rows of the world stand on a database that doesn't own its number, where nobody reads them. "+
			"Compare them with the number's own database, and remove them here."))
	case !p.head:
		return i.tell(v.of(HeadMissing, "Rows of the world stand there without a head: no call finds them. "+
			"Nothing of Holdfast deletes a head: restore it from a backup, or remove the rows."))
	}
	return i.world(ctx, db, worldRef{v.Number, p.world})
}
