package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// Move says which numbers go from where to where.
type Move struct {
	Numbers []domain.Number
	From    *postgres.Database
	To      *postgres.Database
}

// NewMove names the databases of a move.
func NewMove(router *postgres.Router, numbers []domain.Number, from, to string) (Move, error) {
	m := Move{Numbers: numbers, From: router.Named(from), To: router.Named(to)}
	switch {
	case len(numbers) == 0:
		return Move{}, errors.New("a move takes at least one number")
	case m.From == nil:
		return Move{}, fmt.Errorf("there is no data database %q", from)
	case m.To == nil:
		return Move{}, fmt.Errorf("there is no data database %q", to)
	case m.From == m.To:
		return Move{}, fmt.Errorf("the numbers would go from %s to itself", from)
	}
	return m, nil
}

// RefusedError says that the databases are not in the state that a step takes.
// Nothing was done.
type RefusedError struct{ Reason string }

func (e RefusedError) Error() string { return e.Reason }

func refuse(format string, args ...any) error { return RefusedError{fmt.Sprintf(format, args...)} }

const sqlEnterOperator = `SELECT enter_operator()`

// asOperator calls fn in a transaction that sees the rows of all tenants.
func asOperator(ctx context.Context, db *postgres.Database, fn func(pgx.Tx) error) error {
	err := pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlEnterOperator); err != nil {
			return err
		}
		return fn(tx)
	})
	return on(db, err)
}

// on says which database an error is of.
func on(db *postgres.Database, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("data database %s: %w", db.Name, err)
}

// stateOf is what a database's gates say of a number: "open", "closed", or "" where
// it has none.
func stateOf(gates []postgres.Gate, n domain.Number) string {
	if i := slices.IndexFunc(gates, func(g postgres.Gate) bool { return g.Number == n }); i >= 0 {
		return gates[i].State
	}
	return ""
}

// demandStates refuses numbers that a database doesn't have in one of the states.
func demandStates(ctx context.Context, db *postgres.Database, numbers []domain.Number, states ...string) error {
	gates, err := postgres.ReadGates(ctx, db.Pool)
	if err != nil {
		return on(db, err)
	}
	var faults []error
	for _, n := range numbers {
		if state := stateOf(gates, n); !slices.Contains(states, state) {
			faults = append(faults, refuse("number %d is %s on %s", n, stateWord(state), db.Name))
		}
	}
	return errors.Join(faults...)
}

func stateWord(state string) string {
	if state == "" {
		return "not known"
	}
	return state
}

const sqlMovingTables = `SELECT t::text FROM moving_tables() t`

// movingTables are the tables whose rows go where their number goes, by name.
func movingTables(ctx context.Context, db *postgres.Database) ([]string, error) {
	rows, _ := db.Pool.Query(ctx, sqlMovingTables)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return tables, on(db, err)
}

// smallints are numbers as PostgreSQL has them.
func smallints(numbers []domain.Number) []int16 {
	list := make([]int16, len(numbers))
	for i, n := range numbers {
		list[i] = int16(n)
	}
	return list
}
