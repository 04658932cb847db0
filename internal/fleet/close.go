package fleet

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// Close closes numbers on the database that counts for them, as postgres.CloseNumbers
// does; those that are closed already stay so. It refuses, and closes none, when the
// database has only a copy of one, or doesn't know it: that number is served elsewhere,
// and would go on being served.
func Close(ctx context.Context, db *postgres.Database, numbers []domain.Number) error {
	if err := demandStates(ctx, db, numbers, "open", "closed"); err != nil {
		return err
	}
	return postgres.CloseNumbers(ctx, db, numbers)
}
