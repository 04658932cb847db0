package tenancy

import (
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// The closed list of scopes. Every operation of the API names one of them, and
// a principal is granted some of them when it is made.
const (
	IdentityRead     = "identity:read"
	IdentityWrite    = "identity:write"
	LeaseRead        = "lease:read"
	LeaseAppend      = "lease:append"
	LeaseHold        = "lease:hold"
	LeaseAdmin       = "lease:admin"
	RecordRead       = "record:read"
	RecordWrite      = "record:write"
	MigrationRequest = "migration:request"
	AuditRead        = "audit:read"

	OperatorRead    = "operator:read"
	OperatorTenants = "operator:tenants"
	OperatorMigrate = "operator:migrate"
	OperatorApprove = "operator:approve"
)

// TenantScopes are those that a tenant's principal may be granted, sorted.
func TenantScopes() []string {
	return []string{
		AuditRead, IdentityRead, IdentityWrite, LeaseAdmin, LeaseAppend, LeaseHold, LeaseRead,
		MigrationRequest, RecordRead, RecordWrite,
	}
}

// OperatorScopes are those that an operator may be granted, sorted.
func OperatorScopes() []string {
	return []string{OperatorApprove, OperatorMigrate, OperatorRead, OperatorTenants}
}

// parseScopes sorts the wanted scopes and drops repetitions. Wanting none, or
// one that is not grantable, is invalid.
func parseScopes(wanted, grantable []string) ([]string, error) {
	if len(wanted) == 0 {
		return nil, domain.Invalid("scopes_missing", "At least one scope is needed.").At("/scopes")
	}
	scopes := slices.Compact(slices.Sorted(slices.Values(wanted)))
	for _, scope := range scopes {
		if !slices.Contains(grantable, scope) {
			return nil, domain.Invalid("scope_not_grantable",
				"A scope is not one that can be granted here. These can: "+strings.Join(grantable, ", ")+".").At("/scopes")
		}
	}
	return scopes, nil
}

// demand refuses a caller who is not an operator with the scope.
func demand(caller Scope, scope string) error {
	if caller.IsOperator() && caller.Allows(scope) {
		return nil
	}
	return domain.Forbidden("insufficient_scope", "This takes an operator with the scope "+scope+".")
}

// demandAll refuses a caller who would hand out what it doesn't have itself.
func demandAll(caller Scope, scopes []string) error {
	for _, scope := range scopes {
		if !caller.Allows(scope) {
			return domain.Forbidden("scope_not_held", "An operator can hand out only the scopes that it holds itself.")
		}
	}
	return nil
}
