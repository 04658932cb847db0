package record

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// look makes a transaction that looks at the collection.
func (w *inspectedCollection) look(ctx context.Context, queue func(tx *tenancy.Tx)) error {
	return w.read(ctx, w.db, []domain.Number{domain.Number(w.number)}, queue)
}

// walk reads a table's rows of the collection by key, limit at once. queue asks for
// those behind the last one; row reads one, and so goes on to it, and gives what is
// wrong with it. It gives how many there were.
func (w *inspectedCollection) walk(ctx context.Context, limit int, queue func(tx *tenancy.Tx) *pgx.QueuedQuery, row func(pgx.CollectableRow) ([]Violation, error)) (count int64, err error) {
	for {
		read, found := 0, []Violation(nil)
		err := w.look(ctx, func(tx *tenancy.Tx) {
			queue(tx).Query(func(rows pgx.Rows) error {
				for rows.Next() {
					wrong, err := row(rows)
					if err != nil {
						return err
					}
					read, found = read+1, append(found, wrong...)
				}
				return rows.Err()
			})
		})
		count += int64(read)
		if err == nil {
			err = w.tellAll(found)
		}
		if err != nil || read < limit {
			return count, err
		}
	}
}
