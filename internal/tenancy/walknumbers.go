package tenancy

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// numbersAtOnce is how many numbers of a database one transaction of WalkNumbers
// reads: of 64, an eighth of what a tenant has there.
const numbersAtOnce = 8

// WalkNumbers reads what a tenant has on a database, some numbers after the other,
// each some in a transaction of their own, so that none lasts for as long as the
// whole. fn queues what it reads. The entry says for what purpose; its numbers are
// the database's.
//
// Errors: Run's.
func WalkNumbers(ctx context.Context, db *postgres.Database, entry Entry, fn func(tx *Tx, numbers []int16)) error {
	entry.ReadOnly = true
	for some := range slices.Chunk(db.Numbers, numbersAtOnce) {
		entry.Numbers = some
		numbers := make([]int16, len(some))
		for i, n := range some {
			numbers[i] = int16(n)
		}
		err := Run(ctx, db, entry, func(_ context.Context, tx *Tx) error {
			fn(tx, numbers)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
