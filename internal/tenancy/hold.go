package tenancy

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Hold is a legal hold: as long as a tenant has one, nothing of it is purged.
type Hold struct {
	Reason string // why, in an operator's words
	By     string // the operator who set it last
	At     time.Time
}

const maxHoldReason = 500 // characters

const sqlSetHold = `
UPDATE tenants SET hold_reason = $2, held_by = $3, held_at = $4, revision = revision + 1, updated_at = $4
 WHERE tenant_id = $1
RETURNING ` + tenantColumns

// HoldTenant sets a legal hold on the tenant, or another reason of the one that it
// has. It is for tenants of any state but purged ones. A purge that has begun stops:
// when this returns nil, none of its passes over rows is under way, and at most one
// page of objects is.
//
// Errors: forbidden; invalid hold_reason_invalid; not found tenant_not_found;
// conflict tenant_purged; unavailable; outcome unknown. Whoever gets one of the last
// two repeats it.
func (s *Store) HoldTenant(ctx context.Context, caller Scope, id domain.TenantID, reason string) (Tenant, error) {
	if err := demand(caller, OperatorTenants); err != nil {
		return Tenant{}, err
	}
	if reason == "" || !printable(reason, maxHoldReason) {
		return Tenant{}, domain.Invalid("hold_reason_invalid",
			"A legal hold has a reason of 1 to 500 characters, on one line.").At("/reason")
	}
	return s.decideHold(ctx, id, func(ctx context.Context, tx pgx.Tx, t Tenant) (Tenant, error) {
		switch {
		case t.State == TenantPurged:
			return Tenant{}, errPurged()
		case t.Hold != nil && t.Hold.Reason == reason:
			return t, nil
		}
		rows, _ := tx.Query(ctx, sqlSetHold, id, reason, caller.Name, s.now())
		return pgx.CollectExactlyOneRow(rows, scanTenant)
	})
}

const sqlLiftHold = `
UPDATE tenants SET hold_reason = NULL, held_by = NULL, held_at = NULL, revision = revision + 1, updated_at = $2
 WHERE tenant_id = $1
RETURNING ` + tenantColumns

// LiftHold ends a tenant's legal hold: a deletion that waited for it goes on.
// Lifting none changes nothing. Errors: forbidden; not found tenant_not_found;
// unavailable; outcome unknown.
func (s *Store) LiftHold(ctx context.Context, caller Scope, id domain.TenantID) (Tenant, error) {
	if err := demand(caller, OperatorTenants); err != nil {
		return Tenant{}, err
	}
	return s.decideHold(ctx, id, func(ctx context.Context, tx pgx.Tx, t Tenant) (Tenant, error) {
		if t.Hold == nil {
			return t, nil
		}
		rows, _ := tx.Query(ctx, sqlLiftHold, id, s.now())
		return pgx.CollectExactlyOneRow(rows, scanTenant)
	})
}

// decideHold closes the gates of a tenant that is being purged, or lets its purge in
// again. Of any other tenant they don't depend on a hold, and nobody need wait for it.
func (s *Store) decideHold(ctx context.Context, id domain.TenantID,
	decide func(ctx context.Context, tx pgx.Tx, t Tenant) (Tenant, error)) (Tenant, error) {
	t, err := s.decideTenant(ctx, id, decide)
	if err != nil || t.State != TenantPurging {
		return t, err
	}
	return s.settleGates(ctx, t)
}

const sqlLockTenant = `SELECT ` + tenantColumns + ` FROM tenants WHERE tenant_id = $1 FOR NO KEY UPDATE`

// decideGates is decideTenant for what the tenant's gates follow. A crash between the
// two leaves gates that a repetition, or for a purge its next step, puts right.
func (s *Store) decideGates(ctx context.Context, id domain.TenantID,
	decide func(ctx context.Context, tx pgx.Tx, t Tenant) (Tenant, error)) (Tenant, error) {
	t, err := s.decideTenant(ctx, id, decide)
	if err != nil || t.State == TenantProvisioning {
		return t, err
	}
	return s.settleGates(ctx, t)
}

// decideTenant has something decided about a tenant under the lock of its row.
func (s *Store) decideTenant(ctx context.Context, id domain.TenantID,
	decide func(ctx context.Context, tx pgx.Tx, t Tenant) (Tenant, error)) (t Tenant, err error) {
	err = s.controlTx(ctx, Operators, func(tx pgx.Tx) error {
		if t, err = lockTenantTx(ctx, tx, id); err != nil {
			return err
		}
		t, err = decide(ctx, tx, t)
		return err
	})
	return t, err
}

func lockTenantTx(ctx context.Context, tx pgx.Tx, id domain.TenantID) (Tenant, error) {
	rows, _ := tx.Query(ctx, sqlLockTenant, id)
	t, err := pgx.CollectExactlyOneRow(rows, scanTenant)
	return t, noTenant(err)
}
