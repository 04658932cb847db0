package tenancy

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// GateState is what every data database knows of a tenant.
type GateState struct {
	State         string // "open", "suspended", "deleting", "purging", "closed"
	Layout        string // how its keys are spread over numbers
	IdentityState string // "open", "importing"
	RecordFormat  int16  // of new collections: RecordsInSQL (0 is that too), RecordsInObjects
	Revision      int64  // of the tenant's control row that says so
}

// Gates opens and closes tenants on the data databases.
type Gates struct {
	router *postgres.Router
}

// NewGates makes the gates of all the router's data databases.
func NewGates(router *postgres.Router) *Gates { return &Gates{router} }

// sqlLockTenantGate waits for every transaction of the tenant that is under
// way: each holds this lock shared until it ends.
const sqlLockTenantGate = `SELECT pg_advisory_xact_lock(tenant_gate_lock($1))`

// setTenant is enter's for a transaction that enters no gate. It is no set_config,
// which doesn't reach a distributed database's nodes; an id is hex and hyphens, so it
// can stand between quotes.
func setTenant(tenant domain.TenantID) string {
	return "SET LOCAL holdfast.tenant = '" + tenant.String() + "'"
}

const sqlSetTenantGate = `
INSERT INTO tenant_gates AS g (tenant_id, state, layout, identity_state, record_format, revision)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (tenant_id) DO UPDATE
   SET state = excluded.state, layout = excluded.layout, identity_state = excluded.identity_state,
       record_format = excluded.record_format, revision = excluded.revision
 WHERE g.revision <= excluded.revision`

// Set puts the tenant's gate into a state on every data database, one after
// the other. One that fails keeps none of the others open: its error comes when
// all have been tried. A gate that already follows a later revision stays as it
// is. It is idempotent: whoever gets an error repeats the whole. When it
// returns nil, no transaction that was admitted under the former state is still
// under way anywhere.
func (g *Gates) Set(ctx context.Context, tenant domain.TenantID, state GateState) error {
	var errs []error
	for _, db := range g.router.Databases() {
		if err := g.setOn(ctx, db, tenant, state); err != nil {
			errs = append(errs, fmt.Errorf("gate on %s: %w", db.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (g *Gates) setOn(ctx context.Context, db *postgres.Database, tenant domain.TenantID, state GateState) error {
	return postgres.Classify(pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(setTenant(tenant))
		batch.Queue(sqlLockTenantGate, tenant)
		batch.Queue(sqlSetTenantGate, tenant, state.State, state.Layout, state.IdentityState, cmp.Or(state.RecordFormat, RecordsInSQL), state.Revision)
		return tx.SendBatch(ctx, batch).Close()
	}))
}
