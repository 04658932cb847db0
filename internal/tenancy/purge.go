package tenancy

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/domain"
)

// What a purge does to the tenant's own row. What it does to all else is the package
// purge's.

// sqlPurgesDue: those whose grace is over, those that are under way and don't wait,
// and tombstones whose gates may not be closed yet. A tenant with a hold is passed
// over.
const sqlPurgesDue = `
SELECT d.tenant_id
  FROM tenant_deletions d
  JOIN tenants t ON t.tenant_id = d.tenant_id
  LEFT JOIN tenant_purges p ON p.tenant_id = d.tenant_id
 WHERE t.held_at IS NULL AND d.purge_after <= $1 AND p.purged_at IS NULL AND (p.step = 'wait' AND p.settled_at > $1) IS NOT TRUE
    OR p.step = 'close'
 ORDER BY p.stepped_at NULLS FIRST, d.tenant_id LIMIT $2`

// PurgesDue gives the tenants whose purge can come on now, first those that haven't
// for longest.
func (s *Store) PurgesDue(ctx context.Context, limit int) (due []domain.TenantID, err error) {
	err = s.controlRead(ctx, Operators, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlPurgesDue, s.now(), limit)
		due, err = pgx.CollectRows(rows, pgx.RowTo[domain.TenantID])
		return err
	})
	return due, err
}

// ErrNoPurge is for a tenant of which nothing is to be purged now: it is held, its
// deletion was called off, its grace isn't over, or all is done.
var ErrNoPurge = errors.New("nothing of the tenant is to be purged now")

const (
	sqlGraceOver = `SELECT d.purge_after <= $2 FROM tenant_deletions d WHERE d.tenant_id = $1`

	// sqlLockControlGate waits for every transaction that writes the tenant's own rows.
	sqlLockControlGate = `SELECT pg_advisory_xact_lock(control_gate_lock($1))`
)

// BeginPurge moves a tenant whose grace is over to where nothing leads back, and has
// then do what commits with that. A tenant that is being purged already stays as it
// is, and nothing is done. Errors: ErrNoPurge; unavailable; outcome unknown.
func (s *Store) BeginPurge(ctx context.Context, id domain.TenantID, then func(ctx context.Context, tx pgx.Tx) error) error {
	return s.controlTx(ctx, Operators, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockControlGate, id); err != nil {
			return err
		}
		t, err := lockTenantTx(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case t.Hold != nil || t.State != TenantDeleting && t.State != TenantPurging:
			return ErrNoPurge
		case t.State == TenantPurging:
			return nil
		}
		now, over := s.now(), false
		if err := tx.QueryRow(ctx, sqlGraceOver, id, now).Scan(&over); err != nil {
			return err
		}
		if !over {
			return ErrNoPurge
		}
		if _, err := s.setTenantStateTx(ctx, tx, id, TenantPurging, now); err != nil {
			return err
		}
		if err := then(ctx, tx); err != nil {
			return err
		}
		return s.tellPurgeTx(ctx, tx, id, "tenant_purge.begin")
	})
}

// tellPurgeTx writes to the audit log what nobody asked for by a request of his own.
func (s *Store) tellPurgeTx(ctx context.Context, tx pgx.Tx, id domain.TenantID, operation string) error {
	_, err := audit.AppendTx(ctx, tx, s.now(), audit.Entry{
		Operation: operation, Outcome: audit.Done, Tenant: id, Subjects: map[string]string{"tenant_id": id.String()},
	})
	return err
}

// Purging runs fn in a transaction of the control database that is entered for the
// operators and holds the row of a tenant that is being purged and not held: a hold
// waits for it. Errors: ErrNoPurge; fn's; unavailable; outcome unknown.
func (s *Store) Purging(ctx context.Context, id domain.TenantID, fn func(ctx context.Context, tx pgx.Tx) error) error {
	return s.controlTx(ctx, Operators, func(tx pgx.Tx) error {
		t, err := lockTenantTx(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case t.Hold != nil || t.State != TenantPurging:
			return ErrNoPurge
		}
		return fn(ctx, tx)
	})
}

// SettlePurge puts the tenant's gates into the state that its row demands: those of
// one that is being purged admit its purge and nothing else. When it returns nil, no
// transaction that was admitted before is under way.
func (s *Store) SettlePurge(ctx context.Context, id domain.TenantID) error {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return err
	}
	_, err = s.settleGates(ctx, t)
	return err
}

// sqlTombstone leaves the id and when it was made. The name becomes free; what ids
// and requests were known by goes.
const sqlTombstone = `
UPDATE tenants SET state = 'purged', name = 'purged-' || tenant_id::text, id_key = decode(repeat('00', 32), 'hex'), fingerprint = '',
       revision = revision + 1, updated_at = $2
 WHERE tenant_id = $1
RETURNING ` + tenantColumns

// EndPurge makes the tenant's row a tombstone, in a transaction of Purging, and tells
// every process. SettlePurge behind it closes the gates.
func (s *Store) EndPurge(ctx context.Context, tx pgx.Tx, id domain.TenantID) error {
	rows, _ := tx.Query(ctx, sqlTombstone, id, s.now())
	if _, err := pgx.CollectExactlyOneRow(rows, scanTenant); err != nil {
		return err
	}
	if err := s.revokeTx(ctx, tx, revocation{Tenant: id, Kind: revokedTenant, Subject: id}); err != nil {
		return err
	}
	return s.tellPurgeTx(ctx, tx, id, "tenant_purge.end")
}
