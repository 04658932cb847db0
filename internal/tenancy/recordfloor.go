package tenancy

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

const sqlEnterOperator = `SELECT enter_operator()`

const sqlBelowRecordFormat = `SELECT EXISTS (SELECT FROM number_gates WHERE record_format < $1)`

// sqlLockNumberGates waits for every transaction that is under way on the
// database: each holds this lock shared until it ends. Whoever comes meanwhile
// waits, and is judged by what stands then.
const sqlLockNumberGates = `SELECT pg_advisory_xact_lock(number_gates_lock())`

const sqlDemandRecordFormat = `UPDATE number_gates SET record_format = $1 WHERE record_format < $1`

// DemandRecordFormat has every data database, one after the other, refuse
// processes that don't know the record format. It only ever demands more. It is
// idempotent: whoever gets an error repeats the whole. When it returns nil, no
// transaction of a process that knows less is still under way anywhere.
func (g *Gates) DemandRecordFormat(ctx context.Context, format int16) error {
	for _, db := range g.router.Databases() {
		if err := demandRecordFormatOn(ctx, db, format); err != nil {
			return fmt.Errorf("record format on %s: %w", db.Name, err)
		}
	}
	return nil
}

func demandRecordFormatOn(ctx context.Context, db *postgres.Database, format int16) error {
	// What stands was committed under the lock, so whoever was under way then has
	// ended. Looking first spares a database that demands enough the wait, which
	// holds up all its tenants.
	var below bool
	if err := db.Pool.QueryRow(ctx, sqlBelowRecordFormat, format).Scan(&below); err != nil || !below {
		return postgres.Classify(err)
	}
	err := pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(sqlEnterOperator)
		batch.Queue(sqlLockNumberGates)
		batch.Queue(sqlDemandRecordFormat, format)
		return tx.SendBatch(ctx, batch).Close()
	})
	return postgres.Classify(err)
}
