package record

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// DefaultObjectAge is how old an object is that counts when nothing refers to it:
// older than any publication that is still on its way to its commit.
const DefaultObjectAge = 24 * time.Hour

// countEvery is the time between two passes over a number.
const countEvery = 24 * time.Hour

// Bounds of one step of the count.
const (
	listedObjects     = 1000
	listedCollections = 256
)

// sqlNumbersUncounted: a pass that is under way goes on, and one begins when the one
// before began long enough ago.
const sqlNumbersUncounted = `
SELECT n.number FROM number_gates n
  LEFT JOIN object_sweeps o ON o.number = n.number
 WHERE n.state = 'open'
   AND (o.number IS NULL OR o.pass_ended_at IS NULL OR o.pass_ended_at < o.pass_began_at
        OR o.pass_began_at <= clock_timestamp() - $1::interval)
 ORDER BY o.visited_at NULLS FIRST, n.number`

// ObjectsDue gives the numbers of a database whose objects are to be counted, the
// one that has waited longest first. Without an object store there are none.
//
// Errors: unavailable.
func (s *Service) ObjectsDue(ctx context.Context, database string) (numbers []domain.Number, err error) {
	db, err := s.database(database)
	if err != nil || s.store == nil {
		return nil, err
	}
	err = asOperator(ctx, db, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlNumbersUncounted, countEvery)
		numbers, err = pgx.CollectRows(rows, pgx.RowTo[domain.Number])
		return err
	})
	return numbers, err
}

// CountObjects does one bounded step of the count of objects in a number: it lists a
// page of a collection's objects, of whichever tenant's turn it is, and counts those
// to which nothing has referred for long. With a collection's last page its count is
// kept. The objects of bodies stay, whatever the count says. Those of snapshots that
// nothing refers to are removed: what no part of a snapshot that isn't running
// refers to, nothing ever will.
//
// Any number of workers may make the same step at once, and be killed anywhere: the
// count so far is kept with the cursor, which moves once.
//
// Errors: unavailable; conflict object_store_missing.
func (s *Service) CountObjects(ctx context.Context, database string, number domain.Number) (SweepStep, error) {
	if s.store == nil {
		return SweepStep{}, errStoreMissing
	}
	db, err := s.database(database)
	if err != nil {
		return SweepStep{}, err
	}
	was, now, err := loadObjectCursor(ctx, db, number)
	if err != nil {
		return SweepStep{}, err
	}
	next := was
	step := SweepStep{}
	if was.listingSince == nil {
		step.Done, err = nextCollection(ctx, db, &next, now)
	} else {
		step.Visited, step.Recovered, err = s.countPage(ctx, &next)
	}
	if err != nil {
		return SweepStep{}, err
	}
	moved, err := next.move(ctx, db, &was, now, step)
	step.Busy = err == nil && !moved
	return step, err
}

const sqlCollectionsPage = `SELECT tenant_id, collection_id, has_objects FROM upkeep_collections($1, $2, $3, $4)`

// nextCollection moves the cursor to the next collection that may have objects, or
// behind a page of those that have none; done tells that there are no more.
func nextCollection(ctx context.Context, db *postgres.Database, c *objectCursor, now time.Time) (done bool, err error) {
	rows, _ := db.Pool.Query(ctx, sqlCollectionsPage, int16(c.number), c.tenant, c.collection, listedCollections)
	visited, hasObjects := 0, false
	_, err = pgx.ForEachRow(rows, []any{&c.tenant, &c.collection, &hasObjects}, func() error {
		if visited++; hasObjects {
			return errFound
		}
		return nil
	})
	switch {
	case errors.Is(err, errFound):
		c.listingSince = &now
		return false, nil
	case err != nil:
		return false, postgres.Classify(err)
	case visited < listedCollections:
		c.tenant, c.collection = domain.TenantID{}, domain.CollectionID{}
		return true, nil
	}
	return false, nil
}

var errFound = errors.New("found")

// countPage counts a page of the collection's objects, and keeps the count with the
// last one. A tenant that is suspended meanwhile keeps the count that it has.
func (s *Service) countPage(ctx context.Context, c *objectCursor) (visited, removed int, err error) {
	objects, more, err := s.store.List(ctx, collectionPrefix(c.tenant, c.collection), c.key, listedObjects)
	if err != nil {
		return 0, 0, err
	}
	listed := sortObjects(c, objects, time.Now().Add(-s.aged))
	stray, leftovers, err := s.judgeObjects(ctx, c, listed)
	if domain.KindOf(err) == domain.KindForbidden {
		c.endListing()
		return len(objects), 0, nil
	}
	if err == nil && len(leftovers) > 0 {
		err = s.store.Delete(ctx, leftovers...)
	}
	if err != nil {
		return 0, 0, err
	}
	for _, o := range stray {
		c.objects++
		c.bytes += o.Size
	}
	if more {
		c.key = objects[len(objects)-1].Key
		return len(objects), len(leftovers), nil
	}
	if err := s.keepCount(ctx, c); err != nil && domain.KindOf(err) != domain.KindForbidden {
		return 0, 0, err
	}
	// A crash here has the page counted again, to the same end.
	c.endListing()
	return len(objects), len(leftovers), nil
}

// sqlKeepCount leaves what was counted later.
const sqlKeepCount = `
INSERT INTO object_counts AS o (tenant_id, number, collection_id, unreferenced_objects, unreferenced_bytes, counted_at)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (tenant_id, number, collection_id) DO UPDATE
   SET unreferenced_objects = excluded.unreferenced_objects, unreferenced_bytes = excluded.unreferenced_bytes, counted_at = excluded.counted_at
 WHERE o.counted_at <= excluded.counted_at`

func (s *Service) keepCount(ctx context.Context, c *objectCursor) error {
	return tenancy.Run(ctx, s.router.Database(c.number), s.entry(c.tenant, c.number), func(ctx context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlKeepCount, int16(c.number), c.collection, c.objects, c.bytes, *c.listingSince)
		return nil
	})
}

// Unreferenced is what the last counts of all collections come to.
type Unreferenced struct {
	Objects, Bytes int64
}

const sqlUnreferenced = `SELECT objects, bytes FROM upkeep_unreferenced()`

// Unreferenced adds up the last counts of all collections on a database, of all
// tenants. It is the worker's.
//
// Errors: unavailable.
func (s *Service) Unreferenced(ctx context.Context, database string) (u Unreferenced, err error) {
	db, err := s.database(database)
	if err != nil {
		return u, err
	}
	return u, postgres.Classify(db.Pool.QueryRow(ctx, sqlUnreferenced).Scan(&u.Objects, &u.Bytes))
}
