package identity

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Recovery is a tenant's unfinished work.
type Recovery struct {
	Pending        int64      // operations that have not been cleared
	OldestDeadline *time.Time // of those; nil if there are none
}

const sqlPending = `
SELECT count(*), min(deadline) FROM operations WHERE tenant_id = $1 AND number = ANY ($2)`

// Recovery counts the tenant's operations that are still under way or wait for
// somebody to finish them.
func (s *Service) Recovery(ctx context.Context, scope tenancy.Scope) (Recovery, error) {
	found := make([]Recovery, len(s.router.Databases()))
	group, ctx := errgroup.WithContext(ctx)
	for i, db := range s.router.Databases() {
		if len(db.Numbers) == 0 {
			continue
		}
		group.Go(func() error {
			e := tenancy.Entry{Tenant: scope.Tenant, Numbers: db.Numbers, Purpose: s.purpose, Layout: domain.Layout, ReadOnly: true}
			return tenancy.Run(ctx, db, e, func(ctx context.Context, tx *tenancy.Tx) error {
				tx.Queue(sqlPending, numbersOf(db)).QueryRow(func(row pgx.Row) error {
					return row.Scan(&found[i].Pending, &found[i].OldestDeadline)
				})
				return nil
			})
		})
	}
	if err := group.Wait(); err != nil {
		return Recovery{}, err
	}
	var total Recovery
	for _, r := range found {
		total.Pending += r.Pending
		if r.OldestDeadline != nil && (total.OldestDeadline == nil || r.OldestDeadline.Before(*total.OldestDeadline)) {
			total.OldestDeadline = r.OldestDeadline
		}
	}
	return total, nil
}

// SweepProgress is how far the sweeps, or the cleanup, of one kind and family are
// on one database.
type SweepProgress struct {
	Database   string
	Kind       string // "operations", "claims", or a CleanupTask
	Family     domain.Family
	Numbers    int        // that have been visited at all
	Passes     int64      // complete passes over the number that has the fewest
	OldestPass *time.Time // the end of the last pass of the number that waits longest; nil before its first
	Visited    int64
	Recovered  int64
}

const sqlSweepProgress = `
SELECT kind, family, count(*), min(passes), CASE WHEN bool_and(pass_ended_at IS NOT NULL) THEN min(pass_ended_at) END,
       sum(visited)::bigint, sum(recovered)::bigint
  FROM sweeps WHERE number = ANY ($1) GROUP BY kind, family ORDER BY kind, family`

// SweepProgress tells how far the sweeps are, for the operators.
func (s *Service) SweepProgress(ctx context.Context) ([]SweepProgress, error) {
	var all []SweepProgress
	for _, db := range s.router.Databases() {
		some, err := sweepProgressOn(ctx, db)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func sweepProgressOn(ctx context.Context, db *postgres.Database) (all []SweepProgress, err error) {
	err = pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlEnterOperator); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, sqlSweepProgress, numbersOf(db))
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (SweepProgress, error) {
			p := SweepProgress{Database: db.Name}
			err := row.Scan(&p.Kind, &p.Family, &p.Numbers, &p.Passes, &p.OldestPass, &p.Visited, &p.Recovered)
			return p, err
		})
		return err
	})
	return all, postgres.Classify(err)
}

func numbersOf(db *postgres.Database) []int16 {
	numbers := make([]int16, len(db.Numbers))
	for i, n := range db.Numbers {
		numbers[i] = int16(n)
	}
	return numbers
}
