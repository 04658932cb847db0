package migration

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const sqlCheckpoints = `
SELECT ` + checkpointColumns + `
  FROM migration_checkpoints m WHERE m.tenant_id = $1 AND m.number = ANY ($2) AND m.migration_id = $3`

// checkpoints are those of a migration, by number and collection. They are read
// database by database, so they may be of moments a little apart.
func (s *Service) checkpoints(ctx context.Context, m *Migration) ([]Checkpoint, error) {
	pages := make([][]Checkpoint, len(s.router.Databases()))
	e := s.entry(m.Tenant)
	e.ReadOnly = true
	err := s.everywhere(ctx, e, func(i int, db *postgres.Database, tx *tenancy.Tx) {
		tx.Queue(sqlCheckpoints, numbersOf(db), m.ID).Query(func(rows pgx.Rows) (err error) {
			pages[i], err = pgx.CollectRows(rows, scanCheckpoint)
			return err
		})
	})
	return slices.SortedFunc(slices.Values(slices.Concat(pages...)), func(a, b Checkpoint) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.Collection, b.Collection))
	}), err
}

// sqlHold goes forward only: of a pause and a resumption, the one of the later
// revision counts, in whatever order they arrive.
const sqlHold = `
UPDATE migration_checkpoints m SET held = $4, held_at = $5
 WHERE m.tenant_id = $1 AND m.number = ANY ($2) AND m.migration_id = $3 AND m.held_at < $5`

// hold brings a migration's checkpoints to what its state says: no pass commits
// unless it is active. A pass that is under way meets it at its commit.
func (s *Service) hold(ctx context.Context, m *Migration) error {
	return s.everywhere(ctx, s.entry(m.Tenant), func(_ int, db *postgres.Database, tx *tenancy.Tx) {
		tx.Queue(sqlHold, numbersOf(db), m.ID, m.State != Active, m.Revision)
	})
}

// everywhere runs a transaction on each data database that has numbers, and with
// all of these. queue is called side by side.
func (s *Service) everywhere(ctx context.Context, e tenancy.Entry, queue func(i int, db *postgres.Database, tx *tenancy.Tx)) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, db := range s.router.Databases() {
		if len(db.Numbers) == 0 {
			continue
		}
		e := e
		e.Numbers = db.Numbers
		group.Go(func() error {
			return tenancy.Run(ctx, db, e, func(_ context.Context, tx *tenancy.Tx) error {
				queue(i, db, tx)
				return nil
			})
		})
	}
	return group.Wait()
}

// view is for who is told of a migration: of a suspended tenant's too, which may
// be what has stopped it.
func (s *Service) view(tenant domain.TenantID) tenancy.Entry {
	return tenancy.Entry{Tenant: tenant, Purpose: tenancy.Export, ReadOnly: true}
}

func numbersOf(db *postgres.Database) []int16 {
	numbers := make([]int16, len(db.Numbers))
	for i, n := range db.Numbers {
		numbers[i] = int16(n)
	}
	return numbers
}

// totalOf adds counters up.
func totalOf(all []Checkpoint) (t Counters) {
	for i := range all {
		c := &all[i].Counters
		t.Passes += c.Passes
		t.Inspected += c.Inspected
		t.Moved += c.Moved
		t.Bodies += c.Bodies
		t.Bytes += c.Bytes
		t.Uploads += c.Uploads
		t.Reuses += c.Reuses
		t.Raced += c.Raced
		t.Retries += c.Retries
	}
	return t
}
