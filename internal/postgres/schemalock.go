package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
)

const sqlLockSchema = `SELECT pg_advisory_lock(hashtextextended('holdfast/schema', 0))`

// LockSchema waits until nobody else changes the installation's schema or opens
// its numbers, on any of its databases, and keeps others waiting until unlock is
// called. The lock is a session's on the control database, so it needs a direct
// connection, and is free when this process dies.
func LockSchema(ctx context.Context, control *pgxpool.Pool) (unlock func(), err error) {
	conn, err := control.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, sqlLockSchema); err != nil {
		conn.Release()
		return nil, err
	}
	// The session ends with its lock, also when it is asked to after ctx.
	return func() { conn.Hijack().Close(context.WithoutCancel(ctx)) }, nil
}
