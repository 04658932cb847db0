package lease

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// SweepProgress is how far a task is on one database that visits every number. Of
// the tasks only the checkpoints' does: the others go where something is due.
type SweepProgress struct {
	Database   string
	Kind       string // a Task
	Family     domain.Family
	Numbers    int        // that have been visited at all
	Passes     int64      // complete passes over the number that has the fewest
	OldestPass *time.Time // the end of the last pass of the number that waits longest; nil before its first
	Visited    int64
	Recovered  int64 // always 0: nothing is unfinished
}

// FamilyWorld is what the sweeps' progress calls this domain's records.
const FamilyWorld domain.Family = "world"

const sqlSweepProgress = `
SELECT l.task, count(*), min(l.passes), CASE WHEN bool_and(l.pass_ended_at IS NOT NULL) THEN min(l.pass_ended_at) END, sum(l.visited)::bigint
  FROM lease_sweeps l WHERE l.task = $1 AND l.number = ANY ($2)
 GROUP BY l.task`

// SweepProgress tells how far the checkpoints are on each database.
//
// Errors: unavailable.
func (s *Service) SweepProgress(ctx context.Context) (all []SweepProgress, err error) {
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
	numbers := make([]int16, len(db.Numbers))
	for i, n := range db.Numbers {
		numbers[i] = int16(n)
	}
	err = pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlEnterOperator); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, sqlSweepProgress, TaskCheckpoints, numbers)
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (SweepProgress, error) {
			p := SweepProgress{Database: db.Name, Family: FamilyWorld}
			err := row.Scan(&p.Kind, &p.Numbers, &p.Passes, &p.OldestPass, &p.Visited)
			return p, err
		})
		return err
	})
	return all, postgres.Classify(err)
}
