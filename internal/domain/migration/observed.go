package migration

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// StateCount is how many migrations are in one state, of all tenants, and since when
// the one that has been in it for longest.
type StateCount struct {
	State State
	Count int64
	Since time.Time
}

const sqlStates = `SELECT state, migrations, since FROM migration_states()`

// States tells where the migrations stand that are not over. It is the worker's.
//
// Errors: unavailable.
func (s *Service) States(ctx context.Context) (all []StateCount, err error) {
	err = s.control.ControlRead(ctx, tenancy.Operators, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlStates)
		all, err = pgx.CollectRows(rows, pgx.RowToStructByPos[StateCount])
		return err
	})
	return all, err
}

// Unresolved is what waits for somebody's decision on one database: the sections
// that migrations have deferred, of all tenants.
type Unresolved struct {
	Sections int64
	Oldest   *time.Time // when the first of them was; nil for none
}

const sqlUnresolved = `SELECT sections, oldest FROM deferred_sections()`

// Unresolved counts what is deferred on a data database. It is the worker's.
//
// Errors: unavailable.
func (s *Service) Unresolved(ctx context.Context, database string) (u Unresolved, err error) {
	db := s.router.Named(database)
	if db == nil {
		return u, fmt.Errorf("no data database %q", database)
	}
	return u, postgres.Classify(db.Pool.QueryRow(ctx, sqlUnresolved).Scan(&u.Sections, &u.Oldest))
}
