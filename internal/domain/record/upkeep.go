package record

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// SweepStep is what one bounded step of the upkeep did.
type SweepStep struct {
	Visited   int
	Recovered int  // of these, those where something was to be done
	Done      bool // nothing more is to be done there now
	Busy      bool // another worker has made the step
}

// database gives a data database of the worker's.
func (s *Service) database(name string) (*postgres.Database, error) {
	if db := s.router.Named(name); db != nil {
		return db, nil
	}
	return nil, fmt.Errorf("no data database %q", name)
}

const (
	sqlEnterOperator = `SELECT enter_operator()`

	// sqlUnsynced: a cursor that a crash of the database sets back looks at what it has
	// seen again, and that is cheap.
	sqlUnsynced = `SET LOCAL synchronous_commit = off`
)

// asOperator runs fn on what belongs to no tenant, in a transaction of its own.
func asOperator(ctx context.Context, db *postgres.Database, fn func(tx pgx.Tx) error) error {
	return postgres.Classify(pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(sqlEnterOperator)
		batch.Queue(sqlUnsynced)
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		return fn(tx)
	}))
}
