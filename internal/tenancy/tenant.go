package tenancy

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// The states of a tenant.
const (
	TenantProvisioning = "provisioning" // made, and not yet open on every data database
	TenantActive       = "active"
	TenantSuspended    = "suspended" // its calls are refused until an operator resumes it
)

// Tenant is a customer. Revision grows by one with every change and is the
// ETag.
type Tenant struct {
	ID            domain.TenantID
	Name          string // unique, a slug
	State         string
	Layout        string
	IdentityState string // "open", "importing"
	HandlePolicy  string // "ascii", "unicode"
	Revision      int64
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// NewTenant asks for a tenant.
type NewTenant struct {
	Name           string // [a-z0-9][a-z0-9-]{0,62}
	HandlePolicy   string // "ascii", "unicode"
	IdempotencyKey string // at most 255 characters; empty for none
}

// CreateTenant makes a tenant and opens it on every data database. It resumes:
// whoever gets an error repeats it with the same Idempotency-Key. replayed tells
// that the tenant was there already.
//
// Errors: forbidden; invalid (idempotency_key_reused, when the key was used with
// another request); conflict tenant_name_taken; unavailable; outcome unknown.
func (s *Store) CreateTenant(ctx context.Context, caller Scope, want NewTenant) (t Tenant, replayed bool, err error) {
	panic("unwritten")
}

// Tenant reads a tenant. Errors: forbidden; not found tenant_not_found.
func (s *Store) Tenant(ctx context.Context, caller Scope, id domain.TenantID) (Tenant, error) {
	panic("unwritten")
}

// Tenants lists tenants by name. The position is the last name; more tells that
// others follow.
func (s *Store) Tenants(ctx context.Context, caller Scope, page List[string]) (tenants []Tenant, more bool, err error) {
	panic("unwritten")
}

// SuspendTenant refuses the tenant's calls, on every process, until it is
// resumed. Suspending a suspended tenant changes nothing.
//
// Errors: forbidden; not found tenant_not_found; conflict tenant_provisioning;
// unavailable; outcome unknown. Whoever gets one of the last two repeats it.
func (s *Store) SuspendTenant(ctx context.Context, caller Scope, id domain.TenantID) (Tenant, error) {
	panic("unwritten")
}

// ResumeTenant undoes SuspendTenant. Tokens bought before the suspension, and
// not yet expired, work again.
func (s *Store) ResumeTenant(ctx context.Context, caller Scope, id domain.TenantID) (Tenant, error) {
	panic("unwritten")
}
