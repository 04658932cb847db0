package tenancy

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// What a restore has to put right between the control database and the tenants'
// gates. Each may have been put back behind the other, and a gate tells by its
// revision which: it goes forward only, and never ahead of its control row.

const sqlReadTenantGate = `
SELECT g.state, g.layout, g.identity_state, g.record_format, g.revision FROM tenant_gates g WHERE g.tenant_id = $1`

// read gives a tenant's gate on a database, or nil.
func (g *Gates) read(ctx context.Context, db *postgres.Database, tenant domain.TenantID) (found *GateState, err error) {
	err = pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, setTenant(tenant)); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, sqlReadTenantGate, tenant)
		gate, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[GateState])
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		found = &gate
		return err
	})
	return found, postgres.Classify(err)
}

// says tells that the gate is as the control row wants it. Not every change of the
// row is one of the gate's, so one of an earlier revision may be right.
func (g *GateState) says(t Tenant) bool {
	return g.State == t.gate() && g.Layout == t.Layout && g.IdentityState == t.IdentityState && g.RecordFormat == t.RecordFormat
}

// RepairedGates says what became of a tenant's gates.
type RepairedGates struct {
	Behind []string // the databases whose gate was behind the control row, and follows it again
	Ahead  []string // those whose gate is ahead of it: the control database was put back
}

// RepairGates brings a tenant's gates to what its control row says, on every data
// database: a gate that was put back to an earlier time doesn't know that its tenant
// was suspended, say, or how far an import had come.
//
// Errors: unavailable. Whoever gets one repeats it.
func (s *Store) RepairGates(ctx context.Context, gates *Gates, t Tenant) (repaired RepairedGates, err error) {
	for _, db := range gates.router.Databases() {
		gate, err := gates.read(ctx, db, t.ID)
		switch {
		case err != nil:
			return repaired, fmt.Errorf("gate on %s: %w", db.Name, err)
		case gate == nil || gate.Revision < t.Revision && !gate.says(t):
			repaired.Behind = append(repaired.Behind, db.Name)
		case gate.Revision > t.Revision:
			repaired.Ahead = append(repaired.Ahead, db.Name)
		}
	}
	if len(repaired.Behind) == 0 || len(repaired.Ahead) > 0 {
		return repaired, nil
	}
	_, err = s.settleGates(ctx, t)
	return repaired, err
}
