package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

// What a pooler in between calls for, as those are told who configured it.
var (
	errPoolerUnsaid = errors.New("a pooler stands before it, and HOLDFAST_POOLER is not set: " +
		"set HOLDFAST_POOLER=transaction, or give the database's own URL")
	errNotDirect = errors.New("a pooler stands before it, and the schema needs direct connections: " +
		"its lock is a session's, which a pooler shares. Give the database's own URL")
)

// CheckPooler refuses connections that lead through a pooler of which the
// settings don't know: prepared statements fail there now and then, and who
// listens hears nothing. With the setting, any connection will do. The processes
// that serve call it at start.
func CheckPooler(ctx context.Context, router *Router) error {
	if router.pooler {
		return nil
	}
	return checkDirect(ctx, router, errPoolerUnsaid)
}

// CheckDirect refuses connections that lead through a pooler, for what needs a
// session of its own from its first statement to its last.
func CheckDirect(ctx context.Context, router *Router) error {
	return checkDirect(ctx, router, errNotDirect)
}

func checkDirect(ctx context.Context, router *Router, refusal error) error {
	check := func(pool *pgxpool.Pool) error {
		pooled, err := isPooled(ctx, pool)
		if err == nil && pooled {
			err = refusal
		}
		return err
	}
	if err := check(router.Control()); err != nil {
		return fmt.Errorf("control database: %w", err)
	}
	for _, db := range router.Databases() {
		if err := check(db.Pool); err != nil {
			return fmt.Errorf("data database %s: %w", db.Name, err)
		}
	}
	return nil
}

const sqlBackend = `SELECT pg_backend_pid()`

// isPooled compares who answered the connection's start with who answers its
// statements. A server gives its process id at the start, for cancellations
// (BackendKeyData in the protocol); a pooler has to make one up, since no server
// is the client's for good.
func isPooled(ctx context.Context, pool *pgxpool.Pool) (bool, error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Release()
	var backend uint32
	if err := conn.QueryRow(ctx, sqlBackend).Scan(&backend); err != nil {
		return false, err
	}
	return backend != conn.Conn().PgConn().PID(), nil
}
