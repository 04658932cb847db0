package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

const (
	// closeTry bounds one wait for what is under way on a database. Whoever comes
	// meanwhile waits behind it, so it is shorter than the time that the serving
	// roles wait for a lock (sqlServingRole).
	closeTry = 2 * time.Second
	// closePause lets traffic through between two tries.
	closePause = 250 * time.Millisecond
)

// A close is flushed when it returns, and what was committed before it too:
// whoever follows the log needs to go no further.
const sqlBoundCloseTry = `SELECT set_config('lock_timeout', $1, true), set_config('synchronous_commit', 'on', true)`

// sqlAwaitNumbers waits for every transaction that is under way on the database:
// each holds this lock shared until it ends.
const sqlAwaitNumbers = `SELECT pg_advisory_xact_lock(number_gates_lock())`

const sqlCloseNumbers = `UPDATE number_gates SET state = 'closed' WHERE number = ANY ($1) AND state = 'open'`

const sqlReopenNumbers = `
UPDATE number_gates g
   SET state = 'open', record_format = greatest(g.record_format, n.record_format), lease_rules = greatest(g.lease_rules, n.lease_rules)
  FROM unnest($1::smallint[], $2::smallint[], $3::smallint[]) n (number, record_format, lease_rules)
 WHERE g.number = n.number AND g.state <> 'copy'`

// sqlHoldNumbers names the connections whose transactions closing waits for.
const sqlHoldNumbers = `
SELECT l.pid FROM pg_locks l
  JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()
 WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.mode = 'ShareLock' AND l.granted
   AND l.classid::bigint = (number_gates_lock() >> 32) & 4294967295 AND l.objid::bigint = number_gates_lock() & 4294967295
 ORDER BY l.pid`

// NumbersBusyError says that transactions went on for as long as closing was
// allowed to wait for them. Nothing was closed.
type NumbersBusyError struct {
	Database string
	Held     []uint32 // the connections (pg_stat_activity.pid) whose transactions they are; maybe none by now
}

func (e NumbersBusyError) Error() string {
	return fmt.Sprintf("nothing was closed on %s: transactions are still under way, of the connections %v: "+
		"wait, or end them by pg_terminate_backend", e.Database, e.Held)
}

// CloseNumbers closes numbers on a data database; those that are not open there stay
// as they are. When it returns nil, no transaction that had
// entered one of them is under way there, and none enters until they are opened.
//
// It runs as the owner. It waits in tries, and between them traffic goes on, until
// ctx ends: then the error is a NumbersBusyError.
func CloseNumbers(ctx context.Context, db *Database, numbers []domain.Number) error {
	for {
		err := closeNumbers(ctx, db.Pool, numbers)
		var refused *pgconn.PgError
		busy := errors.As(err, &refused) && refused.Code == "55P03"
		if err == nil || !busy && ctx.Err() == nil {
			return err
		}
		select {
		case <-time.After(closePause):
		case <-ctx.Done():
			return busyError(context.WithoutCancel(ctx), db, err)
		}
	}
}

func closeNumbers(ctx context.Context, db *pgxpool.Pool, numbers []domain.Number) error {
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(`SELECT enter_operator()`)
		batch.Queue(sqlBoundCloseTry, fmt.Sprint(closeTry.Milliseconds()))
		batch.Queue(sqlAwaitNumbers)
		batch.Queue(sqlCloseNumbers, signed(numbers))
		return tx.SendBatch(ctx, batch).Close()
	})
}

func busyError(ctx context.Context, db *Database, cause error) error {
	rows, _ := db.Pool.Query(ctx, sqlHoldNumbers)
	held, err := pgx.CollectRows(rows, pgx.RowTo[uint32])
	if err != nil {
		return errors.Join(cause, err)
	}
	return NumbersBusyError{db.Name, held}
}

// ReopenNumbers opens closed numbers where the placement has them. It runs as the
// owner, and alone (LockSchema). It may be repeated.
//
// It opens none when one of them isn't closed or open where it is placed (a copy's
// rows may be those of another time), or is more than a copy on another database: a
// number must never be open twice. What a process must know to enter, it must know
// behind this too, whichever database's gate for the number demands it.
func ReopenNumbers(ctx context.Context, router *Router, numbers []domain.Number) error {
	unlock, err := LockSchema(ctx, router.Control())
	if err != nil {
		return fmt.Errorf("control database: %w", err)
	}
	defer unlock()
	gates, err := readAllGates(ctx, router)
	if err != nil {
		return err
	}
	opening := map[*Database][]Gate{}
	var faults []error
	for _, n := range numbers {
		home := router.Database(n)
		gate, err := reopened(n, home.Name, gates)
		opening[home] = append(opening[home], gate)
		faults = append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	for _, db := range router.Databases() {
		if err := reopenNumbers(ctx, db.Pool, opening[db]); err != nil {
			return fmt.Errorf("data database %s: %w", db.Name, err)
		}
	}
	return nil
}

// reopened is the gate that a number gets at home.
func reopened(n domain.Number, home string, gates map[string][]Gate) (Gate, error) {
	opened := Gate{Number: n}
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		i := slices.IndexFunc(gates[name], func(g Gate) bool { return g.Number == n })
		if i < 0 {
			continue
		}
		gate := gates[name][i]
		opened.RecordFormat = max(opened.RecordFormat, gate.RecordFormat)
		opened.LeaseRules = max(opened.LeaseRules, gate.LeaseRules)
		switch {
		case name == home:
			opened.State = gate.State
		case gate.State != "copy":
			return Gate{}, fmt.Errorf("number %d is %s on %s, and placed on %s", n, gate.State, name, home)
		}
	}
	switch opened.State {
	case "":
		return Gate{}, fmt.Errorf("number %d is not on %s, where it is placed", n, home)
	case "copy":
		return Gate{}, fmt.Errorf("number %d is a copy on %s, where it is placed: holdfast fleet open compares it first", n, home)
	}
	return opened, nil
}

func reopenNumbers(ctx context.Context, db *pgxpool.Pool, gates []Gate) error {
	if len(gates) == 0 {
		return nil
	}
	var numbers, formats, rules []int16
	for _, gate := range gates {
		numbers = append(numbers, int16(gate.Number))
		formats = append(formats, gate.RecordFormat)
		rules = append(rules, gate.LeaseRules)
	}
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(`SELECT enter_operator()`)
		batch.Queue(sqlReopenNumbers, numbers, formats, rules)
		return tx.SendBatch(ctx, batch).Close()
	})
}

// signed are numbers as PostgreSQL's smallint.
func signed(numbers []domain.Number) []int16 {
	list := make([]int16, len(numbers))
	for i, n := range numbers {
		list[i] = int16(n)
	}
	return list
}
