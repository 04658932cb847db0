package identity

import (
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// onDatabases makes decisions on the databases where they belong, side by side.
// It returns when all have come back, also after an error: whatever was begun
// somewhere has been decided there.
func onDatabases[D any](decisions []D, home func(D) *postgres.Database, do func(*postgres.Database, []D) error) error {
	byDatabase := map[*postgres.Database][]D{}
	for _, d := range decisions {
		db := home(d)
		byDatabase[db] = append(byDatabase[db], d)
	}
	if len(byDatabase) == 1 {
		return do(home(decisions[0]), decisions)
	}
	var group errgroup.Group
	for db, some := range byDatabase {
		group.Go(func() error { return do(db, some) })
	}
	return group.Wait()
}
