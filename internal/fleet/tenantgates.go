package fleet

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// sqlReadTenantGates reads each gate whole, whatever it has.
const sqlReadTenantGates = `SELECT to_jsonb(g)::text FROM tenant_gates g`

// sqlAddTenantGates follow forward only, as every gate does.
const sqlAddTenantGates = `
INSERT INTO tenant_gates SELECT r.* FROM unnest($1::text[]) j, jsonb_populate_record(NULL::tenant_gates, j::jsonb) r
    ON CONFLICT (tenant_id) DO NOTHING`

const sqlFollowTenantGates = `
DELETE FROM tenant_gates g USING unnest($1::text[]) j, jsonb_populate_record(NULL::tenant_gates, j::jsonb) r
 WHERE g.tenant_id = r.tenant_id AND g.revision < r.revision`

// gatesAtOnce bounds what one statement carries.
const gatesAtOnce = 1_000

// copyTenantGates gives a database the tenants' gates of another, where it has none
// or older ones. A tenant that was made before the database was configured has none.
//
// The gates of running processes go to every configured database, so what is copied
// here is at most a moment older than what one writes meanwhile, and gives way to it.
func copyTenantGates(ctx context.Context, from, to *postgres.Database) error {
	var gates []string
	err := asOperator(ctx, from, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlReadTenantGates)
		var err error
		gates, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	for len(gates) > 0 && err == nil {
		some := gates[:min(gatesAtOnce, len(gates))]
		gates = gates[len(some):]
		err = asOperator(ctx, to, func(tx pgx.Tx) error {
			batch := &pgx.Batch{}
			batch.Queue(sqlFollowTenantGates, some)
			batch.Queue(sqlAddTenantGates, some)
			return tx.SendBatch(ctx, batch).Close()
		})
	}
	return err
}
