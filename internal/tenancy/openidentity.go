package tenancy

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// The states of a tenant's identity namespace.
const (
	IdentityOpen      = "open"
	IdentityImporting = "importing" // serves nobody yet: imports, and what maintains them, only
)

const sqlOpenIdentity = `
UPDATE tenants SET identity_state = 'open', revision = revision + 1, updated_at = $2
 WHERE tenant_id = $1 AND identity_state = 'importing' AND state <> 'provisioning'
RETURNING ` + tenantColumns

// OpenIdentity ends a tenant's first import: from then on its namespace serves.
// Nothing leads back. Opening an open one changes nothing. A suspended tenant's
// is opened too, and serves once the tenant is resumed. Whoever calls it has
// verified what was imported.
//
// Errors: forbidden; not found tenant_not_found; conflict tenant_provisioning;
// unavailable; outcome unknown. Whoever gets one of the last two repeats it.
func (s *Store) OpenIdentity(ctx context.Context, caller Scope, id domain.TenantID) (t Tenant, err error) {
	if err := demand(caller, OperatorTenants); err != nil {
		return Tenant{}, err
	}
	err = s.controlTx(ctx, Operators, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlOpenIdentity, id, s.now())
		t, err = pgx.CollectExactlyOneRow(rows, scanTenant)
		if errors.Is(err, pgx.ErrNoRows) {
			t, err = tenantTx(ctx, tx, id)
		}
		return err
	})
	if err != nil {
		return Tenant{}, err
	}
	if t.State == TenantProvisioning {
		return Tenant{}, errProvisioning()
	}
	// No revocation is needed: processes remember nothing of this state, which
	// every transaction finds at its gate. A crash here leaves the gates
	// importing, and a retry opens them.
	return s.settleGates(ctx, t)
}
