package record

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// FamilyCollection is what the sweeps' progress calls the records' domain.
const FamilyCollection domain.Family = "collection"

// SweepProgress is how far one kind of upkeep is on one database.
type SweepProgress struct {
	Database   string
	Kind       string // a CleanupTask, or "objects"
	Family     domain.Family
	Numbers    int        // that have been visited at all
	Passes     int64      // complete passes over the number that has the fewest
	OldestPass *time.Time // the end of the last pass of the number that waits longest; nil before its first
	Visited    int64
	Recovered  int64
}

const sqlSweepProgress = `
SELECT p.kind, count(*), min(p.passes), CASE WHEN bool_and(p.pass_ended_at IS NOT NULL) THEN min(p.pass_ended_at) END,
       sum(p.visited)::bigint, sum(p.recovered)::bigint
  FROM (SELECT r.task AS kind, r.number, r.passes, r.pass_ended_at, r.visited, r.recovered FROM record_sweeps r
        UNION ALL
        SELECT 'objects', o.number, o.passes, o.pass_ended_at, o.visited, o.recovered FROM object_sweeps o) p
 WHERE p.number = ANY ($1)
 GROUP BY p.kind ORDER BY p.kind`

// SweepProgress tells how far the upkeep is on each database, for the operators.
//
// Errors: unavailable.
func (s *Service) SweepProgress(ctx context.Context) (all []SweepProgress, err error) {
	for _, db := range s.router.Databases() {
		numbers := make([]int16, len(db.Numbers))
		for i, n := range db.Numbers {
			numbers[i] = int16(n)
		}
		var some []SweepProgress
		err := asOperator(ctx, db, func(tx pgx.Tx) error {
			rows, _ := tx.Query(ctx, sqlSweepProgress, numbers)
			some, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (SweepProgress, error) {
				p := SweepProgress{Database: db.Name, Family: FamilyCollection}
				err := row.Scan(&p.Kind, &p.Numbers, &p.Passes, &p.OldestPass, &p.Visited, &p.Recovered)
				return p, err
			})
			return err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}
