package tenancy

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

const sqlRenameTenant = `
UPDATE tenants SET name = $2, revision = revision + 1, updated_at = $3 WHERE tenant_id = $1
RETURNING ` + tenantColumns

// RenameTenant gives a tenant another name, as it is at that revision. The name is
// the operators' word for it: nothing of the tenant's own refers to it.
//
// Errors: forbidden; invalid tenant_name_invalid; not found tenant_not_found;
// precondition failed revision_stale; conflict tenant_name_taken, tenant_purged;
// unavailable; outcome unknown.
func (s *Store) RenameTenant(ctx context.Context, caller Scope, id domain.TenantID, revision int64, name string) (Tenant, error) {
	if err := demand(caller, OperatorTenants); err != nil {
		return Tenant{}, err
	}
	if !tenantName.MatchString(name) {
		return Tenant{}, errTenantName()
	}
	return s.decideTenant(ctx, id, func(ctx context.Context, tx pgx.Tx, t Tenant) (Tenant, error) {
		switch {
		case t.State == TenantPurging || t.State == TenantPurged:
			return Tenant{}, errPurged()
		case t.Revision != revision:
			return Tenant{}, errTenantStale()
		case t.Name == name:
			return t, nil
		}
		rows, _ := tx.Query(ctx, sqlRenameTenant, id, name, s.now())
		t, err := pgx.CollectExactlyOneRow(rows, scanTenant)
		var pg *pgconn.PgError
		if errors.As(err, &pg) && pg.Code == "23505" {
			return Tenant{}, errTenantNameTaken()
		}
		return t, err
	})
}

func errTenantName() error {
	return domain.Invalid("tenant_name_invalid",
		"A tenant's name has 1 to 63 characters of a-z, 0-9 and -, and doesn't begin with -.").At("/name")
}

func errTenantNameTaken() error {
	return domain.Conflict("tenant_name_taken", "Another tenant has that name.").At("/name")
}
