package tenancy

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// The storage formats of records. A collection has its own; a tenant has the one
// at which its new collections begin.
const (
	RecordsInSQL     = 1 // bodies in SQL
	RecordsInObjects = 2 // bodies in the object store
)

// sqlAdmitObjects is guarded by what it changes, so that of two callers one
// changes the row, and the other finds it changed.
const sqlAdmitObjects = `
UPDATE tenants SET record_format = 2, revision = revision + 1, updated_at = $2
 WHERE tenant_id = $1 AND record_format = 1 AND state <> 'provisioning'
RETURNING ` + tenantColumns

// SetRecordFormat says at which format the tenant's new collections begin.
// Collections that are there keep theirs. Nothing leads back from
// RecordsInObjects: from then on no process that knows RecordsInSQL alone is
// admitted to any data database, for any tenant. Setting what is set changes
// nothing, and finishes what an error had interrupted. Whoever calls it has
// looked at the object store.
//
// Errors: forbidden; invalid record_format_unknown; not found tenant_not_found;
// conflict tenant_provisioning, record_format_fixed (when it would lead back);
// unavailable; outcome unknown. Whoever gets one of the last two repeats it.
func (s *Store) SetRecordFormat(ctx context.Context, caller Scope, id domain.TenantID, format int16) (Tenant, error) {
	t, err := s.Tenant(ctx, caller, id)
	switch {
	case err != nil:
		return Tenant{}, err
	case format != RecordsInSQL && format != RecordsInObjects:
		return Tenant{}, domain.Invalid("record_format_unknown", "The record format is 1 or 2.").At("/record_format")
	case t.State == TenantProvisioning:
		return Tenant{}, errProvisioning()
	case format == RecordsInObjects:
		return s.admitObjects(ctx, id)
	case t.RecordFormat != RecordsInSQL:
		return Tenant{}, domain.Conflict("record_format_fixed",
			"The tenant's new collections begin in the object store, and that can't be taken back.").At("/record_format")
	default:
		return t, nil
	}
}

// admitObjects goes through three places in an order that each crash between
// them leaves harmless. The floor goes first: a collection may begin at format 2
// only where every process that is admitted can read it.
func (s *Store) admitObjects(ctx context.Context, id domain.TenantID) (t Tenant, err error) {
	if err := s.gates.DemandRecordFormat(ctx, RecordsInObjects); err != nil {
		return Tenant{}, err
	}
	// A crash here leaves databases that demand more than they need to.
	err = s.controlTx(ctx, Operators, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlAdmitObjects, id, s.now())
		t, err = pgx.CollectExactlyOneRow(rows, scanTenant)
		if errors.Is(err, pgx.ErrNoRows) {
			t, err = tenantTx(ctx, tx, id)
		}
		return err
	})
	if err != nil {
		return Tenant{}, err
	}
	// No revocation is needed: processes remember nothing of this, which a
	// collection's creation finds at its gate. A crash here leaves collections
	// that begin at format 1 for a while yet, and a retry moves the gates.
	return s.settleGates(ctx, t)
}

// sqlBeginRecords is guarded as sqlAdmitObjects is.
const sqlBeginRecords = `
UPDATE tenants SET record_format = $3, revision = revision + 1, updated_at = $2
 WHERE tenant_id = $1 AND record_format <> $3 AND state <> 'provisioning'
RETURNING ` + tenantColumns

// BeginRecords says at which format a tenant's new collections begin, for a
// migration of all that the tenant has: when it returns nil, none begins at another
// any more. Unlike SetRecordFormat it leads back too, since an approved plan stands
// behind it; what processes must know stays as it is. It is idempotent.
//
// Errors: not found tenant_not_found; unavailable; outcome unknown.
func (s *Store) BeginRecords(ctx context.Context, id domain.TenantID, format int16) error {
	var t Tenant
	err := s.controlTx(ctx, Operators, func(tx pgx.Tx) (err error) {
		rows, _ := tx.Query(ctx, sqlBeginRecords, id, s.now(), format)
		t, err = pgx.CollectExactlyOneRow(rows, scanTenant)
		if errors.Is(err, pgx.ErrNoRows) {
			t, err = tenantTx(ctx, tx, id)
		}
		return err
	})
	if err != nil {
		return err
	}
	_, err = s.settleGates(ctx, t)
	return err
}

// DemandRecordFormat is Gates.DemandRecordFormat.
func (s *Store) DemandRecordFormat(ctx context.Context, format int16) error {
	return s.gates.DemandRecordFormat(ctx, format)
}
