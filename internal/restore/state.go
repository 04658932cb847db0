package restore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// State is where a data database stands.
type State struct {
	Database     string           `json:"database"`
	Open         []domain.Number  `json:"-"` // of the numbers that are placed on it
	Closed       []domain.Number  `json:"-"`
	ID           domain.RestoreID `json:"restore_id,omitzero"` // of the restore that it is closed for, or was last; zero for none
	ClosedAt     time.Time        `json:"closed_at,omitzero"`
	ReconciledAt *time.Time       `json:"reconciled_at,omitempty"`
	OpenedAt     *time.Time       `json:"opened_at,omitempty"`

	incarnation string
}

// UnderWay tells a restore that hasn't come to its end.
func (s State) UnderWay() bool { return !s.ID.IsZero() && s.OpenedAt == nil }

// Word is the state in a word.
func (s State) Word() string {
	switch {
	case !s.UnderWay() && len(s.Closed) > 0:
		return "closed" // for another reason
	case !s.UnderWay():
		return "open"
	case len(s.Open) > 0:
		return "closing"
	case s.ReconciledAt == nil:
		return "to reconcile"
	}
	return "to open"
}

const sqlLastRestore = `
SELECT r.restore_id, r.incarnation, r.closed_at, r.reconciled_at, r.opened_at FROM restores r
 ORDER BY r.opened_at IS NULL DESC, r.closed_at DESC LIMIT 1`

// sqlIncarnation names the very database that answers: its cluster, the cluster's
// timeline, which a recovery to a point in time begins anew, and its own id there,
// which a copy doesn't share.
const sqlIncarnation = `
SELECT format('%s/%s/%s', s.system_identifier, c.timeline_id, d.oid)
  FROM pg_control_system() s, pg_control_checkpoint() c, pg_database d WHERE d.datname = current_database()`

// Show tells where each data database stands.
func Show(ctx context.Context, router *postgres.Router) (all []State, err error) {
	for _, db := range router.Databases() {
		state, err := read(ctx, db)
		if err != nil {
			return nil, fmt.Errorf("data database %s: %w", db.Name, err)
		}
		all = append(all, state)
	}
	return all, nil
}

func read(ctx context.Context, db *postgres.Database) (state State, err error) {
	state.Database = db.Name
	gates, err := postgres.ReadGates(ctx, db.Pool)
	if err != nil {
		return state, err
	}
	open := map[domain.Number]bool{}
	for _, gate := range gates {
		open[gate.Number] = gate.State == "open"
	}
	for _, n := range db.Numbers {
		if is, here := open[n]; is {
			state.Open = append(state.Open, n)
		} else if here {
			state.Closed = append(state.Closed, n)
		}
	}
	err = asOperators(ctx, db, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, sqlLastRestore).Scan(&state.ID, &state.incarnation, &state.ClosedAt, &state.ReconciledAt, &state.OpenedAt)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return state, err
}

func asOperators(ctx context.Context, db *postgres.Database, fn func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT enter_operator()`); err != nil {
			return err
		}
		return fn(tx)
	})
}

const (
	sqlEndStaleRestores = `UPDATE restores SET opened_at = $2 WHERE opened_at IS NULL AND incarnation <> $1`
	sqlBeginRestore     = `
INSERT INTO restores (restore_id, incarnation, closed_at)
SELECT $1, $2, $3 WHERE NOT EXISTS (SELECT FROM restores r WHERE r.opened_at IS NULL)`
)

// closeWait bounds how long Close waits for transactions that are under way.
const closeWait = time.Minute

// Close closes every number on a data database that was restored, those too that are
// placed elsewhere by now, and begins its restore. A database that is closed already
// stays in the restore that it is in, unless it was put back once more since: then
// what that one had done may be undone, and it begins another.
//
// Errors: postgres.NumbersBusyError; what the database says.
func Close(ctx context.Context, db *postgres.Database, now time.Time) (State, error) {
	every := make([]domain.Number, domain.Numbers)
	for n := range every {
		every[n] = domain.Number(n)
	}
	waiting, cancel := context.WithTimeout(ctx, closeWait)
	defer cancel()
	if err := postgres.CloseNumbers(waiting, db, every); err != nil {
		return State{}, err
	}
	// A crash here leaves numbers that are closed and nothing to say why. Closing
	// again says it.
	err := asOperators(ctx, db, func(tx pgx.Tx) error {
		var incarnation string
		if err := tx.QueryRow(ctx, sqlIncarnation).Scan(&incarnation); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlEndStaleRestores, incarnation, now); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, sqlBeginRestore, domain.NewID[domain.RestoreKind](now), incarnation, now)
		return err
	})
	if err != nil {
		return State{}, err
	}
	return read(ctx, db)
}

// ErrUnreconciled refuses to open a database of which nobody has seen to it that it
// agrees with the others.
var ErrUnreconciled = errors.New("the database isn't reconciled: run holdfast restore reconcile until it has nothing left to decide")

// ErrNotClosed refuses what is for a database that is closed for a restore.
var ErrNotClosed = errors.New("the database isn't closed for a restore: run holdfast restore close with its name")

const sqlEndRestore = `UPDATE restores SET opened_at = $2 WHERE restore_id = $1 AND opened_at IS NULL`

// Open opens the numbers of a database that has been reconciled. Opening one that is
// open again does nothing.
//
// Errors: ErrUnreconciled, ErrNotClosed; what postgres.ReopenNumbers refuses.
func Open(ctx context.Context, router *postgres.Router, db *postgres.Database, now time.Time) (State, error) {
	state, err := read(ctx, db)
	switch {
	case err != nil:
		return State{}, err
	case !state.UnderWay() && len(state.Closed) == 0:
		return state, nil
	case !state.UnderWay():
		return State{}, ErrNotClosed
	case state.ReconciledAt == nil:
		return State{}, ErrUnreconciled
	}
	if err := postgres.ReopenNumbers(ctx, router, db.Numbers); err != nil {
		return State{}, err
	}
	// A crash here leaves open numbers in a restore that nobody has ended. Opening
	// again ends it.
	err = asOperators(ctx, db, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sqlEndRestore, state.ID, now)
		return err
	})
	if err != nil {
		return State{}, err
	}
	return read(ctx, db)
}

const sqlReconciled = `UPDATE restores SET reconciled_at = $2 WHERE restore_id = $1 AND opened_at IS NULL`

func reconciled(ctx context.Context, db *postgres.Database, id domain.RestoreID, now time.Time) error {
	return asOperators(ctx, db, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sqlReconciled, id, now)
		return err
	})
}
