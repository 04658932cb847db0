package migration

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// The tenant of qualifications is a tenant like any other, and nobody's: what is
// rehearsed is rehearsed with its collections. Its id derives from this key, so that
// every qualification finds the same one, and no other tenant of its name.
const (
	qualificationTenant = "qualification"
	qualificationKey    = "holdfast-qualification"
)

// QualificationTenant gives the tenant of qualifications, which it makes the first
// time.
//
// Errors: forbidden, for others than operators with tenancy.OperatorTenants;
// conflict tenant_name_taken, when somebody's tenant has its name; unavailable,
// outcome unknown.
func (s *Service) QualificationTenant(ctx context.Context, caller tenancy.Scope) (tenancy.Tenant, error) {
	nobody := tenancy.Scope{Tenant: caller.Tenant, Scopes: caller.Scopes}
	t, _, err := s.control.CreateTenant(ctx, nobody, tenancy.NewTenant{
		Name: qualificationTenant, HandlePolicy: "ascii", IdempotencyKey: qualificationKey,
	})
	return t, err
}
