package identity

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// checkPage is how many rows a check reads at once. It bounds a check's memory.
const checkPage = 500

// placed is a row that tells its place in the walk over its table: the number,
// then whatever the table is ordered by within it.
type placed interface{ place() []any }

// walk reads a table over the run, a page at a time. Of the statement's arguments
// $2 is the run's last number, $3 the size of a page, and $4 and on are the place
// behind which the page begins, at first the run's first number and start. now
// is the database's clock, read ahead of the page.
func walk[R placed](ctx context.Context, r *inspectedRun, sql string, start []any, scan func(pgx.CollectableRow) (R, error),
	look func(ctx context.Context, page []R, now time.Time) error) error {
	var numbers []int16
	for n := r.first; n <= r.last; n++ {
		numbers = append(numbers, int16(n))
	}
	place := append([]any{int16(r.first)}, start...)
	for {
		var page []R
		var now time.Time
		err := tenancy.Run(ctx, r.db, r.entry(numbers), func(_ context.Context, tx *tenancy.Tx) error {
			tx.QueueNow(&now)
			args := append([]any{int16(r.last), r.page}, place...)
			tx.Queue(sql, args...).Query(func(rows pgx.Rows) (err error) {
				page, err = pgx.CollectRows(rows, scan)
				return err
			})
			return nil
		})
		if err != nil {
			return err
		}
		if err := look(ctx, page, now); err != nil {
			return err
		}
		if len(page) < r.page {
			return nil
		}
		place = page[len(page)-1].place()
	}
}

// misplaced tells a row that stands in another number than its key's.
func (r *inspectedRun) misplaced(family domain.Family, stands domain.Number, key string, record domain.RecordID) error {
	return r.tell(Violation{Kind: WrongBucket, Database: r.db.Name, Family: family, Number: stands, Record: record,
		Detail: "A row stands in " + domain.Partition{Family: family, Number: stands}.Bucket() + " and belongs into " +
			domain.Partition{Family: family, Number: domain.NumberOf(key)}.Bucket() + ", where it is looked for. " +
			"Nothing of Holdfast writes it there: find out what did, and move it or remove it."})
}
