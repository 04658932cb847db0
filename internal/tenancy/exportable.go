package tenancy

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// DemandExportable fails unless the tenant is there and has something that can be
// exported: it is served, suspended, or in the grace of its deletion.
//
// Errors: forbidden; not found tenant_not_found; conflict tenant_provisioning,
// tenant_purged.
func (s *Store) DemandExportable(ctx context.Context, caller Scope, id domain.TenantID) error {
	t, err := s.Tenant(ctx, caller, id)
	switch {
	case err != nil:
		return err
	case t.State == TenantProvisioning:
		return errProvisioning()
	case t.State == TenantPurging || t.State == TenantPurged:
		return errPurged()
	default:
		return nil
	}
}
