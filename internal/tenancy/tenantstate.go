package tenancy

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// A tenant's state stands in its control row, and follows from there to the
// gates of the data databases and, by the revocation counter, to what processes
// remember. The row goes first: it is where the others are repaired from.

// SuspendTenant refuses the tenant's calls, on every process, until it is
// resumed. Suspending a suspended tenant changes nothing.
//
// Errors: forbidden; not found tenant_not_found; conflict tenant_provisioning,
// tenant_deleting, tenant_purged; unavailable; outcome unknown. Whoever gets one of
// the last two repeats it.
func (s *Store) SuspendTenant(ctx context.Context, caller Scope, id domain.TenantID) (Tenant, error) {
	if err := demand(caller, OperatorTenants); err != nil {
		return Tenant{}, err
	}
	t, err := s.moveTenant(ctx, id, TenantActive, TenantSuspended)
	if err != nil {
		return Tenant{}, err
	}
	if t.State == TenantProvisioning {
		return Tenant{}, errProvisioning()
	}
	if err := demandStanding(t); err != nil {
		return Tenant{}, err
	}
	// A crash here leaves the tenant's gates open: tokens are refused, requests
	// that were admitted go on, and a retry closes the gates.
	return s.settleGates(ctx, t)
}

// ResumeTenant undoes SuspendTenant, and opens a tenant whose making was
// interrupted. Tokens bought before the suspension, and not yet expired, work
// again. Resuming an active tenant changes nothing. Errors: as SuspendTenant.
func (s *Store) ResumeTenant(ctx context.Context, caller Scope, id domain.TenantID) (Tenant, error) {
	if err := demand(caller, OperatorTenants); err != nil {
		return Tenant{}, err
	}
	t, err := s.moveTenant(ctx, id, TenantSuspended, TenantActive)
	if err == nil {
		err = demandStanding(t)
	}
	if err != nil {
		return Tenant{}, err
	}
	return s.openTenant(ctx, t)
}

// openTenant opens the gates of a tenant and makes it active if it was
// provisioning: only a tenant that is open everywhere is active.
func (s *Store) openTenant(ctx context.Context, t Tenant) (Tenant, error) {
	t, err := s.settleGates(ctx, t)
	if err != nil || t.State != TenantProvisioning {
		return t, err
	}
	return s.moveTenant(ctx, t.ID, TenantProvisioning, TenantActive)
}

// settleGates puts the gates into the state that the control row demands. A
// gate knows the revision of the row that it follows and never goes back, so it
// doesn't matter who comes last.
func (s *Store) settleGates(ctx context.Context, t Tenant) (Tenant, error) {
	return t, s.gates.Set(ctx, t.ID, GateState{
		State: t.gate(), Layout: t.Layout, IdentityState: t.IdentityState, RecordFormat: t.RecordFormat, Revision: t.Revision,
	})
}

// gate is the state that the tenant's gates are to have. A hold closes those of a
// tenant that is being purged: when they are closed, no pass is under way any more.
func (t Tenant) gate() string {
	switch {
	case t.State == TenantSuspended, t.State == TenantDeleting:
		return t.State
	case t.State == TenantPurging && t.Hold == nil:
		return t.State
	case t.State == TenantPurging, t.State == TenantPurged:
		return "closed"
	default:
		return "open"
	}
}

const sqlMoveTenant = `
UPDATE tenants SET state = $3, revision = revision + 1, updated_at = $4
 WHERE tenant_id = $1 AND state = $2
RETURNING ` + tenantColumns

// moveTenant changes the state if it is from, and gives the tenant as it
// is then.
func (s *Store) moveTenant(ctx context.Context, id domain.TenantID, from, to string) (t Tenant, err error) {
	err = s.controlTx(ctx, Operators, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlMoveTenant, id, from, to, s.now())
		t, err = pgx.CollectExactlyOneRow(rows, scanTenant)
		if errors.Is(err, pgx.ErrNoRows) {
			t, err = tenantTx(ctx, tx, id)
			return err
		}
		if err != nil {
			return err
		}
		return s.revokeTx(ctx, tx, revocation{Tenant: id, Kind: revokedTenant, Subject: id})
	})
	return t, err
}

func errProvisioning() error {
	return domain.Conflict("tenant_provisioning",
		"The tenant is still being made. Repeat its creation with the same Idempotency-Key, or resume it.")
}

// demandStanding refuses a tenant whose deletion has begun.
func demandStanding(t Tenant) error {
	switch t.State {
	case TenantDeleting:
		return domain.Conflict("tenant_deleting", "The tenant is being deleted. Call that off first.")
	case TenantPurging, TenantPurged:
		return errPurged()
	default:
		return nil
	}
}

// errPurged refuses to an operator what would change a tenant that is purged.
func errPurged() error {
	return domain.Conflict("tenant_purged", "The tenant is being purged, or has been. Nothing of it can be changed any more.")
}

// admit tells whether a tenant of that state may call: nil, or why not. A purged one
// has no keys, so whoever comes with a token bought it before.
func admit(state string) error {
	switch state {
	case TenantSuspended:
		return errTenantSuspended()
	case TenantDeleting, TenantPurging:
		return errTenantDeleting()
	case "", TenantPurged:
		return errTokenRevoked()
	default:
		return nil
	}
}
