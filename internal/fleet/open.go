package fleet

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// DifferentError says that a copy isn't the same as what it is a copy of.
type DifferentError struct {
	From, To string // databases
	Comparison
}

func (e DifferentError) Error() string {
	return fmt.Sprintf("%s and %s differ in %d tables and numbers: nothing was opened", e.From, e.To, len(e.Differences))
}

// Open opens closed numbers where the placement has them: where they have moved to,
// or, to call a move off, where they were. A copy it first compares with every other
// database that has the number, and when both have the same, it is the copy that
// counts, and the other becomes one. So from the moment that something is written to
// where a number has gone, it can't be opened again where it was.
//
// It refuses, and opens nothing, while replication still writes there, and what is
// different with a DifferentError. It goes on wherever a crash has left it: at worst
// both are copies, and the same.
func Open(ctx context.Context, router *postgres.Router, numbers []domain.Number) (compared []Comparison, err error) {
	unlock, err := postgres.LockSchema(ctx, router.Control())
	if err != nil {
		return nil, fmt.Errorf("control database: %w", err)
	}
	compared, err = settle(ctx, router, numbers)
	unlock()
	if err != nil {
		return compared, err
	}
	return compared, postgres.ReopenNumbers(ctx, router, numbers)
}

// settle has the copies count that are the same as what they are copies of.
func settle(ctx context.Context, router *postgres.Router, numbers []domain.Number) (compared []Comparison, err error) {
	for _, home := range homes(router, numbers) {
		if err := refuseSubscription(ctx, home); err != nil {
			return compared, err
		}
		if err := setForced(ctx, home, true); err != nil {
			return compared, err
		}
	}
	moves, err := unsettled(ctx, router, numbers)
	if err != nil {
		return nil, err
	}
	for _, m := range moves {
		result, err := Compare(ctx, m)
		if err != nil {
			return compared, err
		}
		compared = append(compared, result)
		if len(result.Differences) > 0 {
			return compared, DifferentError{m.From.Name, m.To.Name, result}
		}
	}
	for _, m := range moves {
		if err := m.settle(ctx); err != nil {
			return compared, err
		}
	}
	return compared, nil
}

// unsettled are the numbers that are copies where they are placed, as moves from each
// other database that has them.
func unsettled(ctx context.Context, router *postgres.Router, numbers []domain.Number) (moves []Move, err error) {
	gates := map[*postgres.Database][]postgres.Gate{}
	for _, db := range router.Databases() {
		if gates[db], err = postgres.ReadGates(ctx, db.Pool); err != nil {
			return nil, on(db, err)
		}
	}
	for _, n := range numbers {
		home := router.Database(n)
		if stateOf(gates[home], n) != "copy" {
			continue
		}
		others := copiedFrom(router, gates, n)
		if len(others) == 0 {
			return nil, refuse("number %d is a copy on %s, and no other configured database has it to compare it with", n, home.Name)
		}
		for _, other := range others {
			moves = addTo(moves, n, other, home)
		}
	}
	return moves, nil
}

// copiedFrom are what a number's copy where it is placed must be the same as: the
// database that counts, or, behind a crash in settle, the other copies.
func copiedFrom(router *postgres.Router, gates map[*postgres.Database][]postgres.Gate, n domain.Number) (others []*postgres.Database) {
	for _, db := range router.Databases() {
		switch state := stateOf(gates[db], n); {
		case state == "open", state == "closed":
			return []*postgres.Database{db}
		case state == "copy" && db != router.Database(n):
			others = append(others, db)
		}
	}
	return others
}

func addTo(moves []Move, n domain.Number, from, to *postgres.Database) []Move {
	i := slices.IndexFunc(moves, func(m Move) bool { return m.From == from && m.To == to })
	if i < 0 {
		return append(moves, Move{[]domain.Number{n}, from, to})
	}
	moves[i].Numbers = append(moves[i].Numbers, n)
	return moves
}

const sqlBecomeCopy = `UPDATE number_gates SET state = 'copy' WHERE number = ANY ($1) AND state = 'closed'`

const sqlCount = `UPDATE number_gates SET state = 'closed' WHERE number = ANY ($1) AND state = 'copy'`

// settle has the target count and not the source. Between the two neither does.
func (m Move) settle(ctx context.Context) error {
	if err := copyTenantGates(ctx, m.From, m.To); err != nil {
		return err
	}
	if err := m.copyNumberGates(ctx); err != nil {
		return err
	}
	if err := m.turn(ctx, m.From, sqlBecomeCopy); err != nil {
		return err
	}
	return m.turn(ctx, m.To, sqlCount)
}

func (m Move) turn(ctx context.Context, db *postgres.Database, sql string) error {
	return asOperator(ctx, db, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sql, smallints(m.Numbers))
		return err
	})
}

// homes are the databases that the placement has the numbers on.
func homes(router *postgres.Router, numbers []domain.Number) (all []*postgres.Database) {
	for _, n := range numbers {
		if db := router.Database(n); !slices.Contains(all, db) {
			all = append(all, db)
		}
	}
	return all
}
