package jobs

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

// Inserter asks for jobs and works none: it is the API's.
type Inserter struct {
	client *client
}

// NewInserter makes an inserter. The pool is the control database's.
func NewInserter(control *pgxpool.Pool, tel *telemetry.Telemetry) (*Inserter, error) {
	client, err := newClient(control, baseConfig(tel))
	if err != nil {
		return nil, err
	}
	return &Inserter{client}, nil
}

// IdentitySweep asks for a sweep of each data database at once, whenever its
// schedule would come. It returns how many were not already waiting or under
// way. Unavailable when the control database can't be reached.
func (i *Inserter) IdentitySweep(ctx context.Context, databases ...string) (asked int, err error) {
	if len(databases) == 0 {
		return 0, nil
	}
	params := make([]river.InsertManyParams, len(databases))
	for n, database := range databases {
		params[n].Args = IdentitySweep{Database: database}
	}
	results, err := i.client.InsertMany(ctx, params)
	if err != nil {
		return 0, postgres.Classify(err)
	}
	for _, result := range results {
		if !result.UniqueSkippedAsDuplicate {
			asked++
		}
	}
	return asked, nil
}
